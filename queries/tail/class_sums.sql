-- Time and calls of each stage in bands of units, by class of unit.
--
-- Reads tail_members (`unit_id`, `band`, `class_id`) and tail_stage_rows.
--
-- Parameters:
--   $bands: numbers of the bands of units, as a list.
-- Columns:
--   band: number of the band of units, 0 = tail, 1 = baseline.
--   class_id: the class.
--   stage: the stage.
--   self_ns: exclusive time in nanoseconds, summed over units.
--   call_count: operations that the time is made of.
SELECT
    tail_members.band,
    tail_members.class_id,
    tail_stage_rows.stage,
    -- The filter reads the other table: DuckDB 2.0 else sums by unit before the join, which joins no row less.
    (sum(tail_stage_rows.self_ns) FILTER (WHERE tail_members.band >= 0))::BIGINT AS self_ns,
    (sum(tail_stage_rows.call_count) FILTER (WHERE tail_members.band >= 0))::BIGINT AS call_count
FROM tail_members
INNER JOIN tail_stage_rows USING (unit_id)
WHERE list_contains($bands::UTINYINT[], tail_members.band)
GROUP BY ALL
ORDER BY tail_members.band, tail_members.class_id, tail_stage_rows.stage
