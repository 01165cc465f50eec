-- Calls of stages that few units have: what each unit spent in them, on both sides of a tail question.
--
-- A mean over all units hides a stage that one unit in ten calls. Here are the units that do call it, of all that enter
-- the question, whatever their metric.
-- Reads tail_units, made by `units.sql`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $rare_share: largest number of rows of a stage (operations and windows), as a share of the units of each side.
-- Columns:
--   stage: the stage.
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   per_call_ns: exclusive time of a call in nanoseconds, mean over the calls of the unit.
--   call_count: calls of the unit.
--   side_count: all units of the side.
WITH
entering AS (
    SELECT
        side,
        unit_id,
        count(*) OVER (PARTITION BY side) AS side_count
    FROM tail_units
    WHERE left_out IS NULL
),
stage_rows AS (
    SELECT
        entering.side,
        entering.unit_id,
        entering.side_count,
        unit_stages.stage,
        unit_stages.self_ns,
        unit_stages.operation_count
    FROM base.unit_stages
    INNER JOIN entering USING (unit_id)
    WHERE
        unit_stages.operation_count > 0
        AND ($windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window"))
),
rare_on_side AS (
    SELECT stage
    FROM stage_rows
    GROUP BY stage, side
    -- Rows, not units: a stage with several operations in a unit counts for each, and counting units costs seven times.
    HAVING count(*) <= $rare_share * any_value(side_count)
),
rare AS (
    SELECT stage
    FROM rare_on_side
    GROUP BY stage
    HAVING count(*) = 2
)
SELECT
    stage_rows.stage,
    stage_rows.side,
    stage_rows.unit_id,
    sum(stage_rows.self_ns) / sum(stage_rows.operation_count) AS per_call_ns,
    sum(stage_rows.operation_count)::BIGINT AS call_count,
    any_value(stage_rows.side_count) AS side_count
FROM stage_rows
SEMI JOIN rare USING (stage)
GROUP BY stage_rows.stage, stage_rows.side, stage_rows.unit_id
ORDER BY stage_rows.stage, stage_rows.side, stage_rows.unit_id
