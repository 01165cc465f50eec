-- Who sent spans: one row a service.
--
-- Columns:
--   service_name: name of the service, NULL where the sender gave none.
--   span_count: spans of the service.
--   error_count: those of them with status ERROR.
--   host_count: hosts that it runs on.
--   first_ns: start of its first span, nanoseconds since the epoch.
--   last_ns: end of its last span, nanoseconds since the epoch.
SELECT
    resources.service_name,
    count(*) AS span_count,
    count(*) FILTER (WHERE spans.status_code = 2) AS error_count,
    count(DISTINCT resources.host_name) AS host_count,
    min(spans.start_ns) AS first_ns,
    max(spans.end_ns) AS last_ns
FROM base.spans
LEFT JOIN base.resources USING (resource_id)
GROUP BY ALL
ORDER BY span_count DESC, service_name
