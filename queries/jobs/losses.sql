-- What each failure of a job cost: accelerator time of its attempt that is lost to it.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id, attempt: the attempt that failed.
--   leaf: job.lost_work, job.detect or job.recover.
--   ns: accelerator time, nanoseconds (DECIMAL without digits behind the point).
SELECT
    job_id,
    attempt,
    leaf,
    sum(accelerators::HUGEINT * each_ns)::DECIMAL(38, 0) AS ns
FROM base.job_leaves
WHERE ($job IS NULL OR job_id = $job)
    AND leaf IN ('job.lost_work', 'job.detect', 'job.recover', 'unsplit(step|job.lost_work)')
GROUP BY job_id, attempt, leaf
ORDER BY job_id, attempt, leaf
