-- Collectives, sends and receives in the Flight Recorder dumps of training jobs.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job: the job, '' where unknown.
--   dump: which dump of the job, '' where unknown.
--   rank: the rank that enqueued it.
--   group: process group.
--   sequence: number of the collective in it, alike on all members.
--   operation: all_reduce, send ...
--   is_p2p: whether it is a send or receive.
--   is_retired: whether nothing watches it any more.
--   record_id, p2p_sequence, operation_id, peer: as recorded; the peer is a global rank.
--   created_ns, started_ns, completed_ns: when it was enqueued and when that was noticed, since the epoch.
--   timeout_ms: as recorded.
--   input_elements, output_elements: elements of all tensors.
--   state: scheduled, started or completed.
--   input_types, output_types, input_sizes, output_sizes: JSON text as recorded.
--   thread: name of the thread that enqueued it.
--   frames: JSON text as recorded.
SELECT DISTINCT
    coalesce(resources.job_id, '') AS job,
    coalesce(logs.attributes['flight_recorder.dump']::VARCHAR, '') AS dump,
    coalesce(resources.rank, 0)::BIGINT AS rank,
    logs.attributes['tracekit.collective.group']::VARCHAR AS "group",
    logs.attributes['tracekit.collective.seq']::BIGINT AS sequence,
    logs.attributes['tracekit.collective.name']::VARCHAR AS operation,
    coalesce(logs.attributes['flight_recorder.is_p2p']::BOOLEAN, FALSE) AS is_p2p,
    coalesce(logs.attributes['flight_recorder.is_retired']::BOOLEAN, FALSE) AS is_retired,
    logs.attributes['flight_recorder.record_id']::BIGINT AS record_id,
    logs.attributes['flight_recorder.p2p_sequence']::BIGINT AS p2p_sequence,
    logs.attributes['flight_recorder.operation_id']::BIGINT AS operation_id,
    logs.attributes['flight_recorder.peer']::BIGINT AS peer,
    logs.attributes['flight_recorder.created_ns']::BIGINT AS created_ns,
    logs.attributes['flight_recorder.started_ns']::BIGINT AS started_ns,
    logs.attributes['flight_recorder.completed_ns']::BIGINT AS completed_ns,
    logs.attributes['flight_recorder.timeout_ms']::BIGINT AS timeout_ms,
    logs.attributes['flight_recorder.input_elements']::BIGINT AS input_elements,
    logs.attributes['flight_recorder.output_elements']::BIGINT AS output_elements,
    logs.attributes['flight_recorder.state']::VARCHAR AS state,
    logs.attributes['flight_recorder.input_types']::VARCHAR AS input_types,
    logs.attributes['flight_recorder.output_types']::VARCHAR AS output_types,
    logs.attributes['flight_recorder.input_sizes']::VARCHAR AS input_sizes,
    logs.attributes['flight_recorder.output_sizes']::VARCHAR AS output_sizes,
    logs.attributes['flight_recorder.thread']::VARCHAR AS thread,
    logs.attributes['flight_recorder.frames']::VARCHAR AS frames
FROM base.logs
INNER JOIN base.resources USING (resource_id)
WHERE logs.event_name = 'flight_recorder.entry' AND ($job IS NULL OR resources.job_id = $job)
ORDER BY job, dump, rank, record_id
