-- Links of the spans that are exported.
--
-- Parameters:
--   $trace_ids: traces to export, 32 hexadecimal digits each, as a list; NULL for all.
--   $first_ns: spans that end before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: spans that start from it on are left out; NULL for no limit.
-- Columns:
--   trace_id: trace of the span that links, hexadecimal.
--   span_id: the span that links, hexadecimal.
--   linked_trace_id: trace of the span that it links to, hexadecimal.
--   linked_span_id: the span that it links to, hexadecimal.
--   args_json: both ends of the link and its attributes as a JSON object.
WITH
exported AS (
    SELECT trace_id, span_id
    FROM base.spans
    WHERE
        ($trace_ids::VARCHAR[] IS NULL OR trace_id IN (SELECT unnest($trace_ids::VARCHAR[])::UUID))
        AND ($first_ns::BIGINT IS NULL OR end_ns >= $first_ns)
        AND ($last_ns::BIGINT IS NULL OR start_ns < $last_ns)
)
SELECT
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    replace(linked_trace_id::VARCHAR, '-', '') AS linked_trace_id,
    format('{:016x}', linked_span_id) AS linked_span_id,
    json_object(
        'from_trace_id', replace(linked_trace_id::VARCHAR, '-', ''),
        'from_span_id', format('{:016x}', linked_span_id),
        'to_span_id', format('{:016x}', span_id),
        'attributes', attributes::JSON
    )::VARCHAR AS args_json
FROM base.span_links
SEMI JOIN exported USING (trace_id, span_id)
ORDER BY trace_id, span_id, link_index
