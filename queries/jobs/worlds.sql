-- How fast each job made steps with how many accelerators.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   world_size: accelerators in the running world.
--   steps: steps that were kept.
--   trained_ns: time of one accelerator in these steps, nanoseconds: saves and other work beside are not in it.
WITH
trained AS (
    SELECT
        job_id,
        attempt,
        sum(accelerators::HUGEINT * each_ns)::DOUBLE AS accelerator_ns
    FROM base.job_leaves
    WHERE leaf = 'step' OR leaf LIKE 'step.%' OR leaf LIKE 'unsplit(step.%' OR leaf = 'unattributed'
    GROUP BY job_id, attempt
)
SELECT
    attempts.job_id,
    attempts.world_size,
    sum(attempts.kept_step - attempts.first_step + 1)::BIGINT AS steps,
    sum(trained.accelerator_ns / attempts.world_size)::BIGINT AS trained_ns
FROM base.job_attempts AS attempts
INNER JOIN trained USING (job_id, attempt)
WHERE ($job IS NULL OR attempts.job_id = $job)
    AND attempts.world_size > 0 AND attempts.kept_step >= attempts.first_step
GROUP BY attempts.job_id, attempts.world_size
ORDER BY attempts.job_id, attempts.world_size
