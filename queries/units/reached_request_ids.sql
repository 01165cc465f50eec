-- Names of requests that the reached traces have and of which nothing is known yet.
--
-- Made into the temporary table `reached_request_ids`. Reads touched_names, reached_traces, shared_request_ids,
-- crowded_request_ids.
-- Columns:
--   request_id: the name.
SELECT DISTINCT request_id
FROM touched_names
SEMI JOIN reached_traces USING (trace_id)
ANTI JOIN shared_request_ids USING (request_id)
ANTI JOIN crowded_request_ids USING (request_id)
