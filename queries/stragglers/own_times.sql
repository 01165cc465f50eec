-- How long the ranks of training jobs worked in each step that is looked at, by stage and operation.
--
-- Waiting for other ranks and the transfer of collectives are not a rank's own work.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   rank: the rank.
--   role: its coordinate in the pipeline, '' where unknown: ranks of one role do the same work.
--   stage: the stage.
--   operation: name of the span that the time belongs to.
--   own_ns: exclusive time in nanoseconds.
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    looked_at_steps.step,
    looked_at_steps.rank,
    looked_at_steps.role,
    unit_stages.stage,
    unit_stages.operation,
    sum(unit_stages.self_ns)::BIGINT AS own_ns
FROM looked_at_steps
INNER JOIN base.unit_stages USING (unit_id)
WHERE
    ($job IS NULL OR looked_at_steps.job_id = $job)
    AND unit_stages.stage NOT IN (
        'step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble'
    )
    AND unit_stages.stage NOT LIKE 'unsplit(%'
GROUP BY ALL
ORDER BY ALL
