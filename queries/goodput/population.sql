-- How many requests there are by what saw them.
--
-- Reads request_candidates: the view `units` of the requests that a question selects.
-- Columns:
--   vantage: client, gateway, engine, or service where nothing calls a model.
--   request_count: requests.
SELECT vantage, count(*) AS request_count
FROM request_candidates
GROUP BY vantage
ORDER BY vantage
