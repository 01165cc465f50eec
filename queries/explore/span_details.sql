-- Everything that one span carries.
--
-- Parameters:
--   $trace_id: its trace, 32 hexadecimal digits.
--   $span_id: the span, 16 hexadecimal digits.
-- Columns:
--   name: name of the span.
--   span_attributes: its attributes.
--   resource_attributes: attributes of the sender.
--   status_code: UNSET, OK or ERROR.
--   status_message: message of the status, NULL when empty.
--   scope_name: instrumentation library.
--   start_ns: start, nanoseconds since the epoch.
--   end_ns: end, nanoseconds since the epoch.
--   dropped_attributes_count: attributes that the sender dropped.
--   dropped_events_count: events that the sender dropped.
--   dropped_links_count: links that the sender dropped.
SELECT
    spans.name,
    spans.attributes AS span_attributes,
    resources.attributes AS resource_attributes,
    CASE spans.status_code WHEN 1 THEN 'OK' WHEN 2 THEN 'ERROR' ELSE 'UNSET' END AS status_code,
    spans.status_message,
    scopes.name AS scope_name,
    spans.start_ns,
    spans.end_ns,
    spans.dropped_attributes_count,
    spans.dropped_events_count,
    spans.dropped_links_count
FROM base.spans
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id)
WHERE spans.trace_id = $trace_id::UUID AND format('{:016x}', spans.span_id) = $span_id
