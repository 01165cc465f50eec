-- Names of requests that the reached traces have.
--
-- Reads reached_traces, new_request_ids. Added to the temporary table `touched_names`.
-- Columns:
--   request_id: the name.
--   trace_id: the trace.
SELECT request_id, trace_id
FROM base.request_ids
SEMI JOIN reached_traces USING (trace_id)
UNION
SELECT request_id, trace_id
FROM new_request_ids
SEMI JOIN reached_traces USING (trace_id)
