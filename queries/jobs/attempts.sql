-- The attempts of every job, in order of time.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns: those of the view job_attempts.
SELECT *
FROM base.job_attempts
WHERE $job IS NULL OR job_id = $job
ORDER BY job_id, begun_ns, attempt
