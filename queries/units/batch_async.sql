-- Spans that their parent does not wait for, by the attribute `tracekit.async`.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
SELECT span_row
FROM batch_spans
WHERE TRY_CAST(attributes['tracekit.async'] AS BOOLEAN)
