-- How long each rank of a job with pipeline stages waited for each other one in each step that is looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   rank: the rank that waited.
--   culprit_step: step that the other one was in.
--   culprit_rank: the rank that was waited for.
--   waited_ns: waiting time in nanoseconds.
WITH
pipelines AS (
    SELECT job_id
    FROM looked_at_steps
    WHERE $job IS NULL OR job_id = $job
    GROUP BY job_id
    HAVING count(DISTINCT pipeline_stage) > 1
)
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    looked_at_steps.step,
    looked_at_steps.rank,
    coalesce(step_waits.culprit_step, looked_at_steps.step) AS culprit_step,
    step_waits.culprit_rank,
    sum(step_waits.wait_ns)::BIGINT AS waited_ns
FROM looked_at_steps
SEMI JOIN pipelines USING (job_id)
INNER JOIN base.step_waits USING (unit_id)
GROUP BY ALL
ORDER BY ALL
