-- What is in the store, in one row.
--
-- Columns:
--   span_count: spans.
--   metric_point_count: metric points of all kinds.
--   log_count: log records.
--   service_count: services that sent anything.
--   host_count: hosts that sent anything.
--   unit_count: requests and steps that were made of the spans.
--   first_ns: start of the first span, nanoseconds since the epoch, NULL without spans.
--   last_ns: end of the last span, nanoseconds since the epoch, NULL without spans.
WITH
span_totals AS (
    SELECT
        count(*) AS span_count,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns
    FROM base.spans
),
resource_totals AS (
    SELECT
        count(DISTINCT service_name) AS service_count,
        count(DISTINCT host_name) AS host_count
    FROM resources
),
point_totals AS (
    SELECT
        (SELECT count(*) FROM metric_points)
        + (SELECT count(*) FROM metric_histograms)
        + (SELECT count(*) FROM metric_summaries) AS metric_point_count
)
SELECT
    span_totals.span_count,
    point_totals.metric_point_count,
    (SELECT count(*) FROM base.logs) AS log_count,
    resource_totals.service_count,
    resource_totals.host_count,
    (SELECT count(*) FROM base.units) AS unit_count,
    span_totals.first_ns,
    span_totals.last_ns
FROM span_totals
CROSS JOIN resource_totals
CROSS JOIN point_totals
