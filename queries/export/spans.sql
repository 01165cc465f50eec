-- Spans to export, with everything that they carry as one JSON object each; in an order in which what holds others
-- comes before them.
--
-- Parameters:
--   $trace_ids: traces to export, 32 hexadecimal digits each, as a list; NULL for all.
--   $first_ns: spans that end before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: spans that start from it on are left out; NULL for no limit.
-- Columns:
--   resource_id: who sent the span.
--   trace_id: its trace, hexadecimal.
--   span_id: its id, hexadecimal.
--   parent_span_id: id of its parent, NULL for a root.
--   start_ns: start, nanoseconds since the epoch.
--   end_ns: end, nanoseconds since the epoch.
--   name_json: its name as a JSON string.
--   args_json: the rest of it as a JSON object.
SELECT
    spans.resource_id,
    replace(spans.trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', spans.span_id) AS span_id,
    format('{:016x}', spans.parent_span_id) AS parent_span_id,
    spans.start_ns,
    spans.end_ns,
    to_json(spans.name)::VARCHAR AS name_json,
    json_object(
        'trace_id', replace(spans.trace_id::VARCHAR, '-', ''),
        'span_id', format('{:016x}', spans.span_id),
        'parent_span_id', format('{:016x}', spans.parent_span_id),
        'start_unix_ns', spans.start_ns::VARCHAR,
        'duration_ns', (spans.end_ns::HUGEINT - spans.start_ns)::VARCHAR,
        'kind', CASE spans.kind
            WHEN 1 THEN 'INTERNAL' WHEN 2 THEN 'SERVER' WHEN 3 THEN 'CLIENT'
            WHEN 4 THEN 'PRODUCER' WHEN 5 THEN 'CONSUMER' ELSE 'UNSPECIFIED'
        END,
        'status', CASE spans.status_code WHEN 1 THEN 'OK' WHEN 2 THEN 'ERROR' ELSE 'UNSET' END,
        'status_message', spans.status_message,
        'scope', scopes.name,
        'attributes', spans.attributes::JSON
    )::VARCHAR AS args_json
FROM base.spans
LEFT JOIN base.scopes USING (scope_id)
WHERE
    ($trace_ids::VARCHAR[] IS NULL OR spans.trace_id IN (SELECT unnest($trace_ids::VARCHAR[])::UUID))
    AND ($first_ns::BIGINT IS NULL OR spans.end_ns >= $first_ns)
    AND ($last_ns::BIGINT IS NULL OR spans.start_ns < $last_ns)
ORDER BY spans.resource_id, spans.start_ns, spans.end_ns DESC, spans.trace_id, spans.span_id
