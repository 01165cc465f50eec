-- Which incoming spans the store holds already, and whether they are the same.
--
-- The input is the registered table `incoming_spans`.
--
-- Columns:
--   row: position of the incoming span.
--   same: whether start, end, name, kind and status agree; if not, two spans share one id.
SELECT
    incoming_spans.row,
    (
        incoming_spans.start_ns = spans.start_ns
        AND incoming_spans.end_ns = spans.end_ns
        AND incoming_spans.name = spans.name
        AND incoming_spans.kind = spans.kind
        AND incoming_spans.status_code = spans.status_code
    ) AS same
FROM base.spans
INNER JOIN incoming_spans USING (trace_id, span_id)
ORDER BY incoming_spans.row
