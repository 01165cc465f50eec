-- How long other ranks waited for each rank of training jobs while it was in the transfer of a collective.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step that the rank was in.
--   rank: the rank that was waited for.
--   waiting_rank: the rank that waited.
--   waited_ns: its waiting in nanoseconds.
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    coalesce(step_waits.culprit_step, looked_at_steps.step) AS step,
    step_waits.culprit_rank AS rank,
    looked_at_steps.rank AS waiting_rank,
    sum(step_waits.wait_ns)::BIGINT AS waited_ns
FROM looked_at_steps
INNER JOIN base.step_waits USING (unit_id)
WHERE
    ($job IS NULL OR looked_at_steps.job_id = $job)
    AND step_waits.culprit_stage IN ('step.exposed_comm', 'step.slow_network')
GROUP BY ALL
ORDER BY ALL
