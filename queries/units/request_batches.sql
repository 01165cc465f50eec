-- The traces that may be requests, in order of time, in batches that fit the memory.
--
-- Made into the temporary table `request_batches`. Reads dirty_traces.
-- Parameters:
--   $batch_spans: spans that a batch may have; one trace with more is a batch of its own.
-- Columns:
--   trace_id, first_ns, last_ns: as in dirty_traces.
--   trace_no: dense number in order of time.
--   batch_no: number of the batch, ascending with trace_no.
SELECT
    trace_id,
    first_ns,
    last_ns,
    row_number() OVER (ORDER BY first_ns, trace_id) - 1 AS trace_no,
    ((sum(span_count) OVER (ORDER BY first_ns, trace_id) - 1) // $batch_spans)::BIGINT AS batch_no
FROM dirty_traces
WHERE NOT is_training
