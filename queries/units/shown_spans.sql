-- The spans of the batch as they are shown.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   span_id, parent_span_id: 16 hexadecimal digits; parent_span_id is NULL for a root.
--   name: name of the span.
SELECT
    span_row,
    format('{:016x}', span_id) AS span_id,
    format('{:016x}', parent_span_id) AS parent_span_id,
    name
FROM batch_spans
