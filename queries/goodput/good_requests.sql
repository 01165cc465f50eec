-- Good requests, from whose times normal ones are taken.
--
-- Reads judged_requests.
-- Columns:
--   unit_id, bin_no: the request and its bin.
--   gap_count: tokens after the first, NULL where unknown.
SELECT unit_id, bin_no, gap_count
FROM judged_requests
WHERE bucket = 'good'
