-- How long the other ranks of training jobs waited for each rank, in the steps that are looked at, while it worked
-- itself and was not held by a transfer.
--
-- The first step of an attempt and steps that did not end well on every rank are not looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   rank: the rank that was waited for.
--   waited_ns: waiting time of the other ranks in nanoseconds.
SELECT
    looked_at_steps.job_id,
    step_waits.culprit_rank AS rank,
    sum(step_waits.wait_ns)::BIGINT AS waited_ns
FROM looked_at_steps
INNER JOIN base.step_waits USING (unit_id)
WHERE
    ($job IS NULL OR looked_at_steps.job_id = $job)
    AND step_waits.culprit_stage NOT IN (
        'step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble'
    )
    AND step_waits.culprit_stage NOT LIKE 'unsplit(%'
GROUP BY ALL
ORDER BY waited_ns DESC, looked_at_steps.job_id, rank
