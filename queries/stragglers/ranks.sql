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
--   step_ns: duration of its part of the step and of what led into it beyond what all ranks did alike, in nanoseconds.
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    looked_at_steps.step,
    looked_at_steps.rank,
    looked_at_steps.role,
    looked_at_steps.host_name AS host,
    step_times.step_ns + step_times.lead_in_ns AS step_ns
FROM looked_at_steps
INNER JOIN step_times USING (unit_id)
WHERE $job IS NULL OR looked_at_steps.job_id = $job
ORDER BY looked_at_steps.job_id, looked_at_steps.attempt, looked_at_steps.step, looked_at_steps.rank
