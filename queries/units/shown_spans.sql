-- The spans of the batch as they are shown: with the ids that they came with.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   span_id, parent_span_id: 16 hexadecimal digits; parent_span_id is NULL for a root.
--   name: name of the span.
SELECT
    batch_spans.span_row,
    format('{:016x}', spans.span_id) AS span_id,
    format('{:016x}', coalesce(spans.parent_span_id, batch_spans.parent_span_id)) AS parent_span_id,
    batch_spans.name
FROM batch_spans
INNER JOIN base.spans AS spans ON spans.rowid = batch_spans.span_row
