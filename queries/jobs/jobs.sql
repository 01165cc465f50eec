-- Every job with its attempts counted.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns: those of the view jobs, and
--   attempt_count, failed_count: attempts, and those that failed.
--   outcome: how its last attempt ended; NULL without attempts.
SELECT
    jobs.*,
    count(attempts.attempt) AS attempt_count,
    count(*) FILTER (WHERE attempts.outcome = 'failed') AS failed_count,
    arg_max(attempts.outcome, attempts.begun_ns) AS outcome
FROM base.jobs AS jobs
LEFT JOIN base.job_attempts AS attempts USING (job_id)
WHERE $job IS NULL OR jobs.job_id = $job
GROUP BY ALL
ORDER BY jobs.job_id
