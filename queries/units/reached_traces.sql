-- Traces that share a name of a request with those that are touched, and are not touched yet.
--
-- Made into the temporary table `reached_traces`. Reads shared_request_ids, touched_traces.
-- Columns:
--   trace_id: the trace.
SELECT DISTINCT trace_id
FROM shared_request_ids
ANTI JOIN touched_traces USING (trace_id)
