-- Time per call of stages that few units have, over the time of a selection.
--
-- Reads tail_course: units with `unit_id`, `bin` (number of the slice of time) and `class_id`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
--   $stages: the stages, as a list.
-- Columns:
--   stage: the stage.
--   bin: number of the slice of time.
--   unit_count: units that have it.
--   log_sum: sum over them of a million times ln(1 us + time per call).
WITH
called AS (
    SELECT
        tail_course.bin,
        unit_stages.unit_id,
        unit_stages.stage,
        ln(1e3 + sum(unit_stages.self_ns) / sum(unit_stages.operation_count)) AS log_call
    FROM base.unit_stages
    INNER JOIN tail_course USING (unit_id)
    WHERE
        unit_stages.operation_count > 0
        AND list_contains($stages::VARCHAR[], unit_stages.stage)
        AND ($windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window"))
    GROUP BY tail_course.bin, unit_stages.unit_id, unit_stages.stage
)
SELECT
    stage,
    bin,
    count(*) AS unit_count,
    sum(round(1e6 * log_call)::BIGINT)::BIGINT AS log_sum
FROM called
GROUP BY stage, bin
ORDER BY stage, bin
