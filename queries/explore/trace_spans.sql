-- The spans of one trace, by start.
--
-- Parameters:
--   $trace_id: the trace, 32 hexadecimal digits.
-- Columns:
--   span_id: id of the span, hexadecimal.
--   parent_span_id: id of its parent, NULL for a root.
--   service_name: who sent it.
--   name: name of the span.
--   kind: kind of the span.
--   status_code: UNSET, OK or ERROR.
--   status_message: message of the status, NULL when empty.
--   start_ns: start, nanoseconds since the epoch.
--   end_ns: end, nanoseconds since the epoch.
--   host_name: host of the sender, NULL where it did not say.
--   rank: rank of the sender in its training job, NULL for others.
SELECT
    format('{:016x}', spans.span_id) AS span_id,
    format('{:016x}', spans.parent_span_id) AS parent_span_id,
    resources.service_name,
    spans.name,
    CASE spans.kind
        WHEN 1 THEN 'INTERNAL' WHEN 2 THEN 'SERVER' WHEN 3 THEN 'CLIENT'
        WHEN 4 THEN 'PRODUCER' WHEN 5 THEN 'CONSUMER' ELSE 'UNSPECIFIED'
    END AS kind,
    CASE spans.status_code WHEN 1 THEN 'OK' WHEN 2 THEN 'ERROR' ELSE 'UNSET' END AS status_code,
    spans.status_message,
    spans.start_ns,
    spans.end_ns,
    resources.host_name,
    resources.rank
FROM base.spans
LEFT JOIN base.resources USING (resource_id)
-- The number behind the hexadecimal text, so that only the trace's own rows are read.
WHERE spans.trace_id = $trace_id::UUID
ORDER BY spans.start_ns, spans.span_id
