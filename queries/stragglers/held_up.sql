-- How long others waited for each rank of training jobs in each step that is looked at, while it worked itself.
--
-- Waiting for a rank that was itself held by a transfer says nothing about its own work and is left out.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step that the rank worked in, or between the last one and this; the others may have waited in
--     the step after it.
--   rank: the rank that was waited for.
--   stage: what it did.
--   operation: name of its span.
--   waited_ns: waiting time of the others in nanoseconds.
--   assumed_ns: part of it in a save that all ranks leave together, which the rank is assumed to write.
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    coalesce(step_waits.culprit_step, looked_at_steps.step) AS step,
    step_waits.culprit_rank AS rank,
    step_waits.culprit_stage AS stage,
    step_waits.culprit_operation AS operation,
    sum(step_waits.wait_ns)::BIGINT AS waited_ns,
    coalesce(sum(step_waits.wait_ns) FILTER (WHERE step_waits.basis = 'common_end'), 0)::BIGINT AS assumed_ns
FROM looked_at_steps
INNER JOIN base.step_waits USING (unit_id)
WHERE
    ($job IS NULL OR looked_at_steps.job_id = $job)
    AND step_waits.culprit_stage NOT IN (
        'step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble'
    )
    AND step_waits.culprit_stage NOT LIKE 'unsplit(%'
GROUP BY ALL
ORDER BY ALL
