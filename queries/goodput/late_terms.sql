-- The terms that late requests miss, and by which of them each is charged.
--
-- Reads judged_requests.
-- Columns:
--   unit_id, bin_no: the request and its bin.
--   term: ttft, tpot or e2e.
--   is_charged: whether it is the term of the request's bucket.
--   miss_count: terms that the request misses.
--   value_ns, limit_ns: the metric and its limit in nanoseconds; tpot as time of all tokens after the first.
--   gap_count: tokens after the first for tpot, 1 for the others.
WITH
late AS (
    SELECT *, misses_ttft::INTEGER + misses_tpot::INTEGER + misses_e2e::INTEGER AS miss_count
    FROM judged_requests
    WHERE starts_with(bucket, 'late_')
)
SELECT unit_id, bin_no, 'ttft' AS term, bucket = 'late_ttft' AS is_charged, miss_count, ttft_ns AS value_ns,
    ttft_limit_ns AS limit_ns, 1::BIGINT AS gap_count
FROM late WHERE misses_ttft
UNION ALL BY NAME
SELECT unit_id, bin_no, 'tpot' AS term, bucket = 'late_tpot' AS is_charged, miss_count, decode_ns AS value_ns,
    tpot_limit_ns * gap_count AS limit_ns, gap_count
FROM late WHERE misses_tpot
UNION ALL BY NAME
SELECT unit_id, bin_no, 'e2e' AS term, bucket = 'late_e2e' AS is_charged, miss_count, e2e_ns AS value_ns,
    e2e_limit_ns AS limit_ns, 1::BIGINT AS gap_count
FROM late WHERE misses_e2e
