-- Process groups of each rank in the Flight Recorder dumps of training jobs, and how far the rank had come in them.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job: the job, '' where unknown.
--   dump: which dump of the job, '' where unknown.
--   rank: the rank.
--   group: name of the group.
--   description: what it is for.
--   members: its ranks, in the order of the group.
--   last_enqueued, last_started, last_completed: numbers of its last collectives, NULL where the dump does not say.
SELECT DISTINCT
    coalesce(resources.job_id, '') AS job,
    coalesce(logs.attributes['flight_recorder.dump']::VARCHAR, '') AS dump,
    coalesce(resources.rank, 0)::BIGINT AS rank,
    logs.attributes['tracekit.collective.group']::VARCHAR AS "group",
    logs.attributes['flight_recorder.description']::VARCHAR AS description,
    logs.attributes['flight_recorder.members']::BIGINT[] AS members,
    logs.attributes['flight_recorder.last_enqueued']::BIGINT AS last_enqueued,
    logs.attributes['flight_recorder.last_started']::BIGINT AS last_started,
    logs.attributes['flight_recorder.last_completed']::BIGINT AS last_completed
FROM base.logs
INNER JOIN base.resources USING (resource_id)
WHERE logs.event_name = 'flight_recorder.group' AND ($job IS NULL OR resources.job_id = $job)
ORDER BY ALL
