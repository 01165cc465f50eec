-- How many spans the steps of each training job consist of.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   span_count: spans of its steps.
SELECT
    coalesce(job_id, '') AS job_id,
    sum(span_count)::BIGINT AS span_count
FROM base.units
WHERE kind = 'step' AND ($job IS NULL OR job_id = $job)
GROUP BY ALL
ORDER BY ALL
