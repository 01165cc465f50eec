-- The links of all spans of one trace.
--
-- Parameters:
--   $trace_id: the trace, 32 hexadecimal digits.
-- Columns:
--   span_id: the span that links, hexadecimal.
--   linked_trace_id: trace of the span that it links to, hexadecimal.
--   linked_span_id: the span that it links to, hexadecimal.
SELECT
    format('{:016x}', span_id) AS span_id,
    replace(linked_trace_id::VARCHAR, '-', '') AS linked_trace_id,
    format('{:016x}', linked_span_id) AS linked_span_id
FROM base.span_links
WHERE trace_id = $trace_id::UUID
ORDER BY span_id, link_index
