-- Time per call of every stage in units of both sides of a tail question, of all that enter and not of the slowest alone.
--
-- Reads tail_units, made by `units.sql`, and tail_sampled, made by `sampled_units.sql`. Made into the temporary table `tail_calls`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $is_per_token: whether times are per generated token after the first.
--   $fewest_blocks: blocks that the time of the baseline is cut into where it is shorter than so many selections.
--   $most_blocks: blocks that it is cut into at the most.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   start_ns: its start.
--   class_id: its class.
--   block: number of the block of time of the baseline, as long as the selection where it has enough of them; 0 for units
--     of the selection.
--   stage: the stage.
--   operation: an operation of the stage in the unit.
--   self_ns: exclusive time of the unit in the stage, nanoseconds (per token where asked).
--   log_call: a million times ln(1 us + time per call), which long tails move little.
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
        tail_sampled.start_ns,
        tail_sampled.class_id,
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
        min(unit_stages.operation::VARCHAR) AS operation,
        sum(unit_stages.self_ns) AS self_ns,
        greatest(sum(unit_stages.operation_count), 1) AS call_count
    FROM base.unit_stages
    SEMI JOIN chosen USING (unit_id)
    WHERE $windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window")
    GROUP BY ALL
)
SELECT
    chosen.side,
    chosen.unit_id,
    chosen.start_ns,
    chosen.class_id,
    chosen.block,
    spent.stage,
    spent.operation,
    (spent.self_ns // chosen.divisor)::BIGINT AS self_ns,
    round(1e6 * ln(1e3 + greatest(spent.self_ns, 0) / chosen.divisor / spent.call_count))::BIGINT AS log_call
FROM chosen
INNER JOIN spent USING (unit_id)
