-- Names that more traces had before than may share one: they are names of no request.
--
-- Added to the temporary table `crowded_request_ids`. Reads reached_request_ids.
-- Parameters:
--   $most_traces: traces that may share a name.
-- Columns:
--   request_id: the name.
SELECT request_id
FROM base.request_ids
SEMI JOIN reached_request_ids USING (request_id)
GROUP BY request_id
HAVING count(DISTINCT trace_id) > $most_traces
