-- What was noticed about the records of training jobs, one row a finding.
--
-- Columns:
--   check_name: `job:` and the code of the finding.
--   finding_count: jobs with it.
--   total_count: all jobs.
SELECT
    'job:' || note AS check_name,
    count(DISTINCT job_id)::BIGINT AS finding_count,
    (SELECT count(*) FROM base.jobs)::BIGINT AS total_count
FROM base.job_notes
GROUP BY note
ORDER BY note
