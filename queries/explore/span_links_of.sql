-- The links of one span, and the links that other spans have to it.
--
-- Parameters:
--   $trace_id: its trace, 32 hexadecimal digits.
--   $span_id: the span, 16 hexadecimal digits.
-- Columns:
--   direction: to (this span links there) or from (that span links here).
--   trace_id: trace of the other span, hexadecimal.
--   span_id: the other span, hexadecimal.
--   attributes: attributes of the link.
WITH
both_ends AS (
    SELECT
        'to' AS direction,
        linked_trace_id AS other_trace_id,
        linked_span_id AS other_span_id,
        attributes,
        link_index
    FROM base.span_links
    WHERE trace_id = $trace_id::UUID AND format('{:016x}', span_id) = $span_id
    UNION ALL
    SELECT
        'from' AS direction,
        trace_id AS other_trace_id,
        span_id AS other_span_id,
        attributes,
        link_index
    FROM base.span_links
    WHERE linked_trace_id = $trace_id::UUID AND format('{:016x}', linked_span_id) = $span_id
)
SELECT
    direction,
    replace(other_trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', other_span_id) AS span_id,
    attributes
FROM both_ends
ORDER BY direction DESC, link_index, other_trace_id, other_span_id
