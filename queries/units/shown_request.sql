-- The trace that is shown, with those that are one request with it, as a batch of one.
--
-- Made into the temporary table `batch_traces`. Reads dirty_traces, joined_traces and the variable `shown_trace`.
-- Columns:
--   trace_id: the trace.
--   trace_no: 0.
WITH
requests AS (
    SELECT
        dirty_traces.trace_id,
        coalesce(joined_traces.request_trace_id, dirty_traces.trace_id) AS request_trace_id
    FROM dirty_traces
    LEFT JOIN joined_traces USING (trace_id)
)
SELECT trace_id, 0 AS trace_no
FROM requests
WHERE request_trace_id = (SELECT request_trace_id FROM requests WHERE trace_id = getvariable('shown_trace'))
