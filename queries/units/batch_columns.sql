-- The spans of a batch as numbers.
--
-- Reads batch_spans.
-- Columns: see batch_spans; key is trace_no, parent_span_id is 0 for a root.
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
