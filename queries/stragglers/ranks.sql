-- The parts of ranks in the training steps that are looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   rank: the rank.
--   role: its coordinate in the pipeline, '' where unknown.
--   host: the host that it runs on, NULL where unknown.
--   step_ns: duration of its part of the step, in nanoseconds.
SELECT
    job_id,
    attempt,
    step,
    rank,
    role,
    host_name AS host,
    end_ns - start_ns AS step_ns
FROM looked_at_steps
WHERE $job IS NULL OR job_id = $job
ORDER BY job_id, attempt, step, rank
