-- Requests of each class and bucket, and the times that the rate of a benchmark is made of.
--
-- Reads judged_requests.
-- Columns:
--   slo_class, bucket: the class and the bucket.
--   request_count: requests.
--   lacks_ttft, lacks_tpot, lacks_e2e: requests that cannot be judged by this term.
--   least_ttft_ns, least_tpot_ns, least_e2e_ns: the smallest value of a served request, nanoseconds.
--   first_ns, last_ns: first start and last end, nanoseconds since the epoch.
SELECT
    slo_class,
    bucket,
    count(*) AS request_count,
    count(*) FILTER (WHERE lacks_ttft) AS lacks_ttft,
    count(*) FILTER (WHERE lacks_tpot) AS lacks_tpot,
    count(*) FILTER (WHERE lacks_e2e) AS lacks_e2e,
    min(ttft_ns) AS least_ttft_ns,
    min(CASE WHEN gap_count > 0 THEN decode_ns // gap_count END) AS least_tpot_ns,
    min(e2e_ns) AS least_e2e_ns,
    min(start_ns) AS first_ns,
    max(close_ns) AS last_ns
FROM judged_requests
GROUP BY slo_class, bucket
ORDER BY slo_class, bucket
