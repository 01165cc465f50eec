-- The failures of every job with their first causes.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns: those of the view job_incidents, and
--   service: service that said what proves the cause, NULL for none.
--   name: the job as its processes name it.
SELECT
    incidents.*,
    resources.service_name AS service,
    jobs.name
FROM job_incidents AS incidents
INNER JOIN base.jobs USING (job_id)
LEFT JOIN base.resources USING (resource_id)
WHERE $job IS NULL OR incidents.job_id = $job
ORDER BY incidents.job_id, incidents.onset_ns, incidents.attempt
