-- How many requests were good over time.
--
-- Reads judged_requests.
-- Parameters:
--   $slice_ns: length of a slice of time in nanoseconds.
-- Columns:
--   slice_start_ns: start of the slice, a multiple of its length since the epoch.
--   attempted, invalid, good: requests that arrived in it.
SELECT
    start_ns // $slice_ns * $slice_ns AS slice_start_ns,
    count(*) AS attempted,
    count(*) FILTER (WHERE bucket = 'invalid') AS invalid,
    count(*) FILTER (WHERE bucket = 'good') AS good
FROM judged_requests
GROUP BY slice_start_ns
ORDER BY slice_start_ns
