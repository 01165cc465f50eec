-- Time of each operation inside a stage and window, in the tail and in the baseline.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail, 1 = baseline) and tail_stage_rows.
--
-- Columns:
--   stage: the stage.
--   unit_window: window of the unit that the time lies in.
--   operation: name of the span that the time belongs to.
--   tail_ns: exclusive time in nanoseconds, summed over the units of the tail.
--   baseline_ns: the same over the units of the baseline.
SELECT
    tail_stage_rows.stage,
    tail_stage_rows.unit_window,
    tail_stage_rows.operation,
    coalesce(sum(tail_stage_rows.self_ns) FILTER (WHERE tail_members.band = 0), 0)::BIGINT AS tail_ns,
    coalesce(sum(tail_stage_rows.self_ns) FILTER (WHERE tail_members.band = 1), 0)::BIGINT AS baseline_ns
FROM tail_members
INNER JOIN tail_stage_rows USING (unit_id)
WHERE tail_members.band <= 1
GROUP BY ALL
ORDER BY tail_stage_rows.stage, tail_stage_rows.unit_window, tail_stage_rows.operation
