-- The model of each request.
--
-- Reads judged_requests.
-- Columns:
--   unit_id: the request.
--   value: the model, NULL where nothing names it.
SELECT unit_id, units.model AS value
FROM judged_requests
INNER JOIN base.units AS units USING (unit_id)
