-- The traces that may be requests, in order of time, in batches that fit the memory; those of one request together.
--
-- Made into the temporary table `request_batches`. Reads dirty_traces, joined_traces.
-- Parameters:
--   $batch_spans: spans that a batch may have; one request with more is a batch of its own.
-- Columns:
--   trace_id, first_ns, last_ns: as in dirty_traces.
--   trace_no: dense number of the request in order of time.
--   batch_no: number of the batch, ascending with trace_no.
WITH
parts AS (
    SELECT
        dirty_traces.trace_id,
        dirty_traces.first_ns,
        dirty_traces.last_ns,
        dirty_traces.span_count,
        coalesce(joined_traces.request_trace_id, dirty_traces.trace_id) AS request_trace_id
    FROM dirty_traces
    LEFT JOIN joined_traces USING (trace_id)
    WHERE NOT dirty_traces.is_training
),
requests AS (
    SELECT
        request_trace_id,
        row_number() OVER (ORDER BY min(first_ns), request_trace_id) - 1 AS trace_no,
        (
            (sum(sum(span_count)) OVER (ORDER BY min(first_ns), request_trace_id) - 1) // $batch_spans
        )::BIGINT AS batch_no
    FROM parts
    GROUP BY request_trace_id
)
SELECT
    parts.trace_id,
    parts.first_ns,
    parts.last_ns,
    requests.trace_no,
    requests.batch_no
FROM parts
INNER JOIN requests USING (request_trace_id)
