-- Time of each stage over the time of a selection, by class of unit.
--
-- Reads tail_course: units with `unit_id`, `bin` (number of the slice of time) and `class_id`.
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
-- Columns:
--   bin: number of the slice of time.
--   class_id: the class.
--   stage: the stage.
--   self_ns: exclusive time in nanoseconds, summed over units.
--   call_rows: rows with calls (operations and windows of a unit); those of a stage that few units have are few.
SELECT
    tail_course.bin,
    tail_course.class_id,
    unit_stages.stage,
    -- The filter reads the other table: DuckDB 2.0 else sums by unit before the join, which joins no row less.
    (sum(unit_stages.self_ns) FILTER (WHERE tail_course.bin >= 0))::BIGINT AS self_ns,
    count(*) FILTER (WHERE unit_stages.operation_count > 0) AS call_rows
FROM base.unit_stages
INNER JOIN tail_course USING (unit_id)
WHERE $windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window")
GROUP BY ALL
ORDER BY tail_course.bin, tail_course.class_id, unit_stages.stage
