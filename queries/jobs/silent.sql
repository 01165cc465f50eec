-- Jobs that processes name, and of which no span says where the job is in its life: there are no units of them.
--
-- Columns:
--   job_id: the job.
SELECT DISTINCT resources.job_id
FROM base.resources
SEMI JOIN base.spans USING (resource_id)
ANTI JOIN base.jobs ON jobs.name = resources.job_id
WHERE resources.job_id IS NOT NULL
ORDER BY resources.job_id
