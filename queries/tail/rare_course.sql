-- Time per call of stages that few units have, over the time of a selection.
--
-- Reads tail_course: units with `unit_id`, `bin` (number of the slice of time) and `class_id`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $rare_share: largest number of rows of a stage (operations and windows), as a share of the units.
-- Columns:
--   stage: the stage.
--   bin: number of the slice of time.
--   unit_count: units that have it.
--   log_sum: sum over them of a million times ln(1 us + time per call).
WITH
stage_rows AS (
    SELECT
        tail_course.bin,
        unit_stages.unit_id,
        unit_stages.stage,
        unit_stages.self_ns,
        unit_stages.operation_count
    FROM base.unit_stages
    INNER JOIN tail_course USING (unit_id)
    WHERE
        unit_stages.operation_count > 0
        AND ($windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window"))
),
rare AS (
    SELECT stage
    FROM stage_rows
    GROUP BY stage
    HAVING count(*) <= $rare_share * (SELECT count(*) FROM tail_course)
),
called AS (
    SELECT
        bin,
        unit_id,
        stage,
        ln(1e3 + sum(self_ns) / sum(operation_count)) AS log_call
    FROM stage_rows
    SEMI JOIN rare USING (stage)
    GROUP BY bin, unit_id, stage
)
SELECT
    stage,
    bin,
    count(*) AS unit_count,
    sum(round(1e6 * log_call)::BIGINT)::BIGINT AS log_sum
FROM called
GROUP BY stage, bin
ORDER BY stage, bin
