-- How much work arrived in the time of each side of a tail question, whoever sent it.
--
-- All requests of the store count that began between the first and the last start of a side, also those
-- that the question does not select: they share the machines with the ones it does.
-- Reads tail_units, made by `units.sql`.
--
-- Columns:
--   work: requests, input_tokens or output_tokens.
--   side: 0 = the selection, 1 = the baseline selection.
--   duration_ns: time from the first start of the side to the last, plus one nanosecond.
--   amount: requests, or their tokens, that arrived in it; requests without a count have none.
--   square_sum: sum of the squares of what each of them brought, which is the variance of the amount where
--     arrivals are independent.
WITH
sides AS (
    SELECT
        side,
        min(start_ns) AS first_ns,
        max(start_ns) AS last_ns
    FROM tail_units
    WHERE left_out IS NULL
    GROUP BY side
),
arrived AS (
    SELECT
        sides.side,
        sides.last_ns - sides.first_ns + 1 AS duration_ns,
        1 AS requests,
        coalesce(units.input_tokens, 0) AS input_tokens,
        coalesce(units.output_tokens, 0) AS output_tokens
    FROM sides
    INNER JOIN base.units AS units
        ON units.kind = 'request' AND units.start_ns BETWEEN sides.first_ns AND sides.last_ns
),
works AS (
    UNPIVOT arrived
    ON requests, input_tokens, output_tokens
    INTO NAME work VALUE brought
)
SELECT
    work,
    side,
    duration_ns,
    sum(brought)::BIGINT AS amount,
    sum(brought::DOUBLE * brought) AS square_sum
FROM works
GROUP BY work, side, duration_ns
ORDER BY work, side
