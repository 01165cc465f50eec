-- What the waiting of training steps was charged to, in the tail and in the baseline.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail, 1 = baseline).
--
-- Columns:
--   culprit_rank: rank that was waited for.
--   culprit_stage: what that rank was doing meanwhile.
--   culprit_operation: name of its span.
--   tail_ns: waiting time in nanoseconds, summed over the units of the tail.
--   baseline_ns: the same over the units of the baseline.
SELECT
    step_waits.culprit_rank,
    step_waits.culprit_stage,
    step_waits.culprit_operation,
    coalesce(sum(step_waits.wait_ns) FILTER (WHERE tail_members.band = 0), 0)::BIGINT AS tail_ns,
    coalesce(sum(step_waits.wait_ns) FILTER (WHERE tail_members.band = 1), 0)::BIGINT AS baseline_ns
FROM tail_members
INNER JOIN base.step_waits USING (unit_id)
WHERE tail_members.band <= 1 AND step_waits.basis = 'collective'
GROUP BY ALL
ORDER BY step_waits.culprit_rank, step_waits.culprit_stage, step_waits.culprit_operation
