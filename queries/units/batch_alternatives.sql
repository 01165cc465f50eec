-- Spans of traces of which a request has several of one kind beside each other: any of them may be the one that served it.
--
-- Reads batch_spans, batch_joined and joined_traces.
-- Columns:
--   span_row: the span.
--   kind_no: dense number of the service and operation that its trace begins with.
--   trace_no_of_kind: dense number of its trace.
WITH
tops AS (
    SELECT
        batch_joined.trace_id,
        batch_joined.request_trace_id,
        min(concat_ws(chr(31), batch_spans.service_name, batch_spans.name)) AS of_kind
    FROM batch_joined
    INNER JOIN batch_spans USING (span_row)
    INNER JOIN joined_traces ON joined_traces.trace_id = batch_joined.trace_id
    WHERE joined_traces.is_ambiguous
    GROUP BY ALL
),
numbered AS (
    SELECT
        trace_id,
        dense_rank() OVER (ORDER BY request_trace_id, of_kind) AS kind_no,
        dense_rank() OVER (ORDER BY trace_id) AS trace_no_of_kind
    FROM tops
)
SELECT
    batch_spans.span_row,
    numbered.kind_no,
    numbered.trace_no_of_kind
FROM batch_spans
INNER JOIN numbered USING (trace_id)
ORDER BY batch_spans.span_row
