-- Traces that hang in a request and are made anew.
--
-- Reads request_batches.
-- Columns:
--   trace_id: the trace, as text.
--   batch_no: number of the batch that it is made in.
SELECT
    joined.trace_id::VARCHAR AS trace_id,
    request_batches.batch_no
FROM (SELECT DISTINCT trace_id FROM base.joined_spans) AS joined
INNER JOIN request_batches USING (trace_id)
ORDER BY trace_id
