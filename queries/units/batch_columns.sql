-- The spans of a batch as numbers.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   key: dense number of the trace, `trace_no` of batch_spans.
--   span_id, parent_span_id: ids as numbers; parent_span_id is 0 for a root.
--   start_ns, end_ns, kind, resource_id: as in batch_spans.
SELECT
    span_row,
    trace_no AS key,
    span_id,
    coalesce(parent_span_id, 0) AS parent_span_id,
    start_ns,
    end_ns,
    kind,
    resource_id
FROM batch_spans
