-- Spans to export as rows, in order of time.
--
-- Parameters:
--   $trace_ids: traces to export, 32 hexadecimal digits each, as a list; NULL for all.
--   $first_ns: spans that end before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: spans that start from it on are left out; NULL for no limit.
-- Columns:
--   trace_id: trace of the span, hexadecimal.
--   span_id: its id, hexadecimal.
--   parent_span_id: id of its parent, NULL for a root.
--   service_name: who sent it.
--   name: its name.
--   kind: its kind.
--   start_ns: start, nanoseconds since the epoch.
--   end_ns: end, nanoseconds since the epoch.
--   duration_ns: its duration in nanoseconds.
--   status_code: UNSET, OK or ERROR.
--   status_message: message of the status.
--   scope_name: instrumentation library.
--   span_attributes: its attributes.
--   resource_attributes: attributes of the sender.
SELECT
    replace(spans.trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', spans.span_id) AS span_id,
    format('{:016x}', spans.parent_span_id) AS parent_span_id,
    resources.service_name,
    spans.name,
    CASE spans.kind
        WHEN 1 THEN 'INTERNAL' WHEN 2 THEN 'SERVER' WHEN 3 THEN 'CLIENT'
        WHEN 4 THEN 'PRODUCER' WHEN 5 THEN 'CONSUMER' ELSE 'UNSPECIFIED'
    END AS kind,
    spans.start_ns,
    spans.end_ns,
    spans.end_ns - spans.start_ns AS duration_ns,
    CASE spans.status_code WHEN 1 THEN 'OK' WHEN 2 THEN 'ERROR' ELSE 'UNSET' END AS status_code,
    spans.status_message,
    scopes.name AS scope_name,
    spans.attributes AS span_attributes,
    resources.attributes AS resource_attributes
FROM base.spans
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id)
WHERE
    ($trace_ids::VARCHAR[] IS NULL OR spans.trace_id IN (SELECT unnest($trace_ids::VARCHAR[])::UUID))
    AND ($first_ns::BIGINT IS NULL OR spans.end_ns >= $first_ns)
    AND ($last_ns::BIGINT IS NULL OR spans.start_ns < $last_ns)
ORDER BY spans.start_ns, spans.trace_id, spans.span_id
