-- Everybody but the culprits of each failure: at most so many a failure, the earliest first.
--
-- Parameters:
--   $job: only this job, NULL for all.
--   $most: rows a failure.
-- Columns: those of the view job_members.
SELECT *
FROM base.job_members
WHERE ($job IS NULL OR job_id = $job) AND role <> 'initiating'
QUALIFY row_number() OVER (PARTITION BY job_id, attempt ORDER BY time_ns NULLS LAST, rank) <= $most
ORDER BY job_id, attempt, time_ns NULLS LAST, rank
