-- Which incoming spans the store holds already, and whether they are the same.
--
-- A server or consumer may have the id of the span that calls it, as in Zipkin: the two are different spans.
--
-- The input is the registered table `incoming_spans`. The bounds leave most of the store unread.
--
-- Parameters:
--   $first_ingest_id, $last_ingest_id: the ingests to look in.
--   $first_ns, $last_ns: the starts to look for, nanoseconds since the epoch.
-- Columns:
--   row: position of the incoming span.
--   same: whether start, end, name, kind and status agree; if not, two spans share one id.
SELECT
    incoming_spans.row,
    bool_or(
        incoming_spans.start_ns = spans.start_ns
        AND incoming_spans.end_ns = spans.end_ns
        AND incoming_spans.name = spans.name
        AND incoming_spans.kind = spans.kind
        AND incoming_spans.status_code = spans.status_code
    ) AS same
FROM base.spans
INNER JOIN incoming_spans
    ON incoming_spans.trace_id = spans.trace_id
    AND incoming_spans.span_id = spans.span_id
    AND (incoming_spans.kind IN (2, 5)) = (spans.kind IN (2, 5))
WHERE spans.ingest_id BETWEEN $first_ingest_id AND $last_ingest_id
    AND spans.start_ns BETWEEN $first_ns AND $last_ns
GROUP BY incoming_spans.row
ORDER BY incoming_spans.row
