-- Time of single stages in units of both sides of a tail question, of all that enter and not of the slowest alone.
--
-- Reads tail_sampled, made by `sampled_units.sql`. Made into the temporary table `tail_whose`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $stages: the stages, as a list.
--   $is_per_token: whether times are per generated token after the first.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   stage: the stage; every unit has a row for each.
--   self_ns: exclusive time of the unit in it, nanoseconds (per token where asked); 0 where it has none.
--   log_ratio: a million times ln(1 + self_ns over the mean of the baseline), which long tails move little.
WITH
chosen AS (
    SELECT
        side,
        unit_id,
        CASE WHEN $is_per_token THEN output_tokens - 1 ELSE 1 END AS divisor
    FROM tail_sampled
),
spent AS (
    SELECT
        unit_stages.unit_id,
        unit_stages.stage::VARCHAR AS stage,
        sum(unit_stages.self_ns) AS self_ns
    FROM base.unit_stages
    SEMI JOIN chosen USING (unit_id)
    WHERE
        list_contains($stages::VARCHAR[], unit_stages.stage::VARCHAR)
        AND ($windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window"))
    GROUP BY ALL
),
timed AS (
    SELECT
        chosen.side,
        chosen.unit_id,
        asked.stage,
        (coalesce(spent.self_ns, 0) // chosen.divisor)::BIGINT AS self_ns
    FROM chosen
    CROSS JOIN (SELECT unnest($stages::VARCHAR[]) AS stage) AS asked
    LEFT JOIN spent ON spent.unit_id = chosen.unit_id AND spent.stage = asked.stage
),
usual AS (
    SELECT
        stage,
        greatest(sum(self_ns) // count(*), 1) AS mean_ns
    FROM timed
    WHERE side = 1
    GROUP BY stage
)
SELECT
    timed.side,
    timed.unit_id,
    timed.stage,
    timed.self_ns,
    round(1e6 * ln(1 + timed.self_ns / coalesce(usual.mean_ns, 1)))::BIGINT AS log_ratio
FROM timed
LEFT JOIN usual USING (stage)
