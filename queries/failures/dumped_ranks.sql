-- The Flight Recorder dumps that ranks of training jobs left.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job: the job, '' where unknown.
--   dump: which dump of the job, '' where unknown.
--   rank: the rank.
--   last_ns: when the rank enqueued its last operation, nanoseconds since the epoch; NULL where it has none.
SELECT DISTINCT
    coalesce(resources.job_id, '') AS job,
    coalesce(logs.attributes['flight_recorder.dump']::VARCHAR, '') AS dump,
    coalesce(resources.rank, 0)::BIGINT AS rank,
    nullif(logs.time_ns, 0) AS last_ns
FROM base.logs
INNER JOIN base.resources USING (resource_id)
WHERE logs.event_name = 'flight_recorder.dump' AND ($job IS NULL OR resources.job_id = $job)
ORDER BY ALL
