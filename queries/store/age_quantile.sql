-- The time that divides the records of a store by age.
--
-- Parameters:
--   $share: share of the records that are older than the answer, 0 to 1.
-- Columns:
--   before_ns: nanoseconds since the epoch; null for an empty store.
WITH
times AS (
    SELECT end_ns AS time_ns FROM base.spans
    UNION ALL
    SELECT time_ns FROM base.metric_points
    UNION ALL
    SELECT time_ns FROM base.metric_histograms
    UNION ALL
    SELECT time_ns FROM base.metric_summaries
    UNION ALL
    SELECT coalesce(time_ns, observed_time_ns) AS time_ns FROM base.logs
)

SELECT quantile_disc(time_ns, $share::DOUBLE) AS before_ns
FROM times
