-- How many metric points a range of time has that are neither gauge nor sum: the trace event format has no place for them.
--
-- Parameters:
--   $first_ns: start of the range, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: its end; NULL for no limit.
-- Columns:
--   point_count: histograms and summaries.
WITH
points AS (
    SELECT time_ns FROM base.metric_histograms
    UNION ALL
    SELECT time_ns FROM base.metric_summaries
)
SELECT count(*) AS point_count
FROM points
WHERE ($first_ns::BIGINT IS NULL OR time_ns >= $first_ns) AND ($last_ns::BIGINT IS NULL OR time_ns < $last_ns)
