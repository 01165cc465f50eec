-- How the work that arrives swings in the baseline of a tail question: by blocks of time as long as the selection.
--
-- Requests count as in `load.sql`: all of the store that began in a block, also those that the question does not select.
-- A block that the end of the baseline cuts short is left out.
-- Reads tail_units, made by `units.sql`.
--
-- Columns:
--   work: requests, input_tokens or output_tokens.
--   block: number of the block from the first start of the baseline on; one in which nothing arrived has no row.
--   block_count: whole blocks of the baseline.
--   amount: requests, or their tokens, that arrived in it.
WITH
sides AS (
    SELECT
        side,
        min(start_ns) AS first_ns,
        max(start_ns) - min(start_ns) + 1 AS duration_ns
    FROM tail_units
    WHERE left_out IS NULL
    GROUP BY side
),
course AS (
    SELECT
        before.first_ns,
        selection.duration_ns,
        before.duration_ns // selection.duration_ns AS block_count
    FROM sides AS selection
    INNER JOIN sides AS before ON selection.side = 0 AND before.side = 1
),
arrived AS (
    SELECT
        (units.start_ns - course.first_ns) // course.duration_ns AS block,
        course.block_count,
        1 AS requests,
        coalesce(units.input_tokens, 0) AS input_tokens,
        coalesce(units.output_tokens, 0) AS output_tokens
    FROM course
    INNER JOIN base.units AS units
        ON units.kind = 'request'
        AND units.start_ns >= course.first_ns
        AND units.start_ns < course.first_ns + course.block_count * course.duration_ns
),
works AS (
    UNPIVOT arrived
    ON requests, input_tokens, output_tokens
    INTO NAME work VALUE brought
)
SELECT
    work,
    block,
    any_value(block_count) AS block_count,
    sum(brought)::BIGINT AS amount
FROM works
GROUP BY work, block
ORDER BY work, block
