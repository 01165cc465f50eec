-- The value of an attribute of each request.
--
-- Reads judged_requests.
-- Parameters:
--   $key: name of the attribute.
-- Columns:
--   unit_id: the request.
--   value: the value as text, NULL where the request does not have it.
SELECT unit_id, variant_extract(units.attributes, $key)::VARCHAR AS value
FROM judged_requests
INNER JOIN base.units AS units USING (unit_id)
