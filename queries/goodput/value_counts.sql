-- Requests by a value and by bucket.
--
-- Reads judged_requests and request_values (`unit_id`, `value`).
-- Columns:
--   value: the value, NULL where the request has none.
--   bucket: as in judged_requests.
--   request_count: requests.
SELECT
    request_values.value,
    judged_requests.bucket,
    count(*) AS request_count
FROM judged_requests
LEFT JOIN request_values USING (unit_id)
GROUP BY ALL
ORDER BY request_values.value NULLS LAST, judged_requests.bucket
