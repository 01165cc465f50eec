-- What the histograms of a metric counted, in windows of the clock and their own buckets.
--
-- Buckets with the same upper end are one; their lower ends differ where a sender tells its least value.
--
-- Parameters:
--   $metric: name of the metric, canonical or the sender's own.
--   $window_count: number of windows that the time is cut into at most.
-- Columns:
--   first_ns: start of the window, nanoseconds since the epoch.
--   last_ns: its end.
--   low: lower end of the bucket in the unit of the metric, NULL where it has none.
--   high: its upper end, NULL where it has none.
--   value_count: values in it.
WITH
asked AS (
    SELECT stream_id
    FROM metric_series
    WHERE metric = $metric OR sender_name = $metric
),
counted AS (
    SELECT
        histogram_buckets.end_ns,
        histogram_buckets.low,
        histogram_buckets.high,
        histogram_buckets.count AS value_count
    FROM histogram_buckets
    INNER JOIN asked USING (stream_id)
    WHERE histogram_buckets.count > 0
),
extent AS (
    SELECT
        min(end_ns) AS origin_ns,
        greatest((max(end_ns) - min(end_ns)) // $window_count + 1, 1) AS window_ns
    FROM counted
),
placed AS (
    SELECT
        extent.origin_ns + (counted.end_ns - extent.origin_ns) // extent.window_ns * extent.window_ns AS first_ns,
        extent.window_ns,
        counted.low,
        counted.high,
        counted.value_count
    FROM counted
    CROSS JOIN extent
)
SELECT
    first_ns::BIGINT AS first_ns,
    (first_ns + window_ns)::BIGINT AS last_ns,
    min(low) AS low,
    high,
    sum(value_count)::DOUBLE AS value_count
FROM placed
GROUP BY ALL
ORDER BY ALL
