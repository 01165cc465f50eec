-- How many processes of each failed attempt had which role and manner.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id, attempt, role, manner: as in the view job_members.
--   process_count: number of processes.
SELECT
    job_id,
    attempt,
    role,
    manner,
    count(*) AS process_count
FROM base.job_members
WHERE $job IS NULL OR job_id = $job
GROUP BY ALL
ORDER BY ALL
