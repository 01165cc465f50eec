-- How many good requests each bin holds, and how many late ones.
--
-- Reads judged_requests.
-- Columns:
--   bin_no: the bin.
--   good_count, late_count: requests.
SELECT
    bin_no,
    count(*) FILTER (WHERE bucket = 'good') AS good_count,
    count(*) FILTER (WHERE starts_with(bucket, 'late_')) AS late_count
FROM judged_requests
WHERE bucket = 'good' OR starts_with(bucket, 'late_')
GROUP BY bin_no
ORDER BY bin_no
