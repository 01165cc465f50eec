-- The ranks of training jobs that left a Flight Recorder dump.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job: the job, '' where unknown.
--   rank: the rank.
SELECT DISTINCT
    coalesce(resources.job_id, '') AS job,
    coalesce(resources.rank, 0)::BIGINT AS rank
FROM base.logs
INNER JOIN base.resources USING (resource_id)
WHERE logs.event_name = 'flight_recorder.dump' AND ($job IS NULL OR resources.job_id = $job)
ORDER BY ALL
