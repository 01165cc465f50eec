-- The steps in which a rank was waited for longest.
--
-- Parameters:
--   $job_id: the training job, NULL where it did not say.
--   $attempt: attempt of the job, NULL where it did not say.
--   $rank: the rank, NULL for all that any rank was waited for.
--   $first_step: the first step looked at.
--   $last_step: the last one.
--   $limit: number of steps at most.
-- Columns:
--   step: number of the step.
--   wait_ns: what the others waited for it, in nanoseconds.
SELECT
    units.step,
    sum(step_waits.wait_ns)::BIGINT AS wait_ns
FROM units
INNER JOIN step_waits USING (unit_id)
WHERE
    units.job_id IS NOT DISTINCT FROM $job_id
    AND units.attempt IS NOT DISTINCT FROM $attempt
    AND units.step BETWEEN $first_step AND $last_step
    AND ($rank::INTEGER IS NULL OR step_waits.culprit_rank = $rank)
GROUP BY units.step
ORDER BY wait_ns DESC, units.step
LIMIT $limit
