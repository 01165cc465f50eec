-- Whom each rank waited for in one training step, the longest waiting first.
--
-- Parameters:
--   $job_id: the training job, NULL where it did not say.
--   $attempt: attempt of the job, NULL where it did not say.
--   $step: number of the step.
-- Columns:
--   rank: rank that waited.
--   culprit_rank: rank that it waited for.
--   culprit_stage: what that rank was doing meanwhile.
--   culprit_operation: name of its span.
--   wait_ns: the waiting in nanoseconds.
SELECT
    units.rank,
    step_waits.culprit_rank,
    step_waits.culprit_stage,
    step_waits.culprit_operation,
    sum(step_waits.wait_ns)::BIGINT AS wait_ns
FROM units
INNER JOIN step_waits USING (unit_id)
WHERE
    units.kind = 'step'
    AND units.job_id IS NOT DISTINCT FROM $job_id
    AND units.attempt IS NOT DISTINCT FROM $attempt
    AND units.step = $step
GROUP BY units.rank, step_waits.culprit_rank, step_waits.culprit_stage, step_waits.culprit_operation
ORDER BY wait_ns DESC, units.rank, step_waits.culprit_rank, step_waits.culprit_stage, step_waits.culprit_operation
