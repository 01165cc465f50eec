-- Time of single stages in units of both sides of a tail question, of all that enter and not of the slowest alone.
--
-- Reads tail_units, made by `units.sql`, and tail_sampled, made by `sampled_units.sql`. Made into the temporary table `tail_whose`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $stages: the stages, as a list.
--   $is_per_token: whether times are per generated token after the first.
--   $fewest_blocks: blocks that the time of the baseline is cut into where it is shorter than so many selections.
--   $most_blocks: blocks that it is cut into at the most.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   block: number of the block of time of the baseline, as long as the selection where it has enough of them; 0 for units
--     of the selection.
--   stage: the stage; every unit has a row for each.
--   self_ns: exclusive time of the unit in it, nanoseconds (per token where asked); 0 where it has none.
--   log_ratio: a million times ln(1 + self_ns over the mean of the baseline), which long tails move little.
WITH
sides AS (
    SELECT
        side,
        min(start_ns) AS first_ns,
        max(start_ns) - min(start_ns) + 1 AS length_ns
    FROM tail_units
    WHERE left_out IS NULL
    GROUP BY side
),
lengths AS (
    SELECT
        first_ns,
        greatest(
            least((SELECT length_ns FROM sides WHERE side = 0), length_ns // $fewest_blocks),
            length_ns // $most_blocks
        ) + 1 AS block_ns
    FROM sides
    WHERE side = 1
),
chosen AS (
    SELECT
        tail_sampled.side,
        tail_sampled.unit_id,
        CASE
            WHEN tail_sampled.side = 1 THEN (tail_sampled.start_ns - lengths.first_ns) // lengths.block_ns
            ELSE 0
        END AS block,
        CASE WHEN $is_per_token THEN tail_sampled.output_tokens - 1 ELSE 1 END AS divisor
    FROM tail_sampled
    CROSS JOIN lengths
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
        chosen.block,
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
    timed.block,
    timed.stage,
    timed.self_ns,
    round(1e6 * ln(1 + timed.self_ns / coalesce(usual.mean_ns, 1)))::BIGINT AS log_ratio
FROM timed
LEFT JOIN usual USING (stage)
