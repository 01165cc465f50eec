-- Gauges over time: how high they stood in each window of the clock.
--
-- Reads asked_series.
--
-- Parameters:
--   $first_ns: start of the first window, nanoseconds since the epoch.
--   $every_ns: length of a window in nanoseconds.
-- Columns:
--   sender_name: the sender's name of the metric.
--   service_name: service of the group.
--   host_name: host of the group.
--   model: model of the group.
--   window_number: number of the window, from 0.
--   series_count: series that have a point in the window.
--   point_count: their points.
--   mean: mean of the series' means.
--   total: sum of the series' means: how much there was in the group at a time.
--   least: smallest value.
--   largest: largest value.
WITH
by_series AS (
    SELECT
        asked_series.* EXCLUDE (metric, unit, kind),
        (metric_values.time_ns - $first_ns) // $every_ns AS window_number,
        count(*) AS point_count,
        avg(metric_values."value") AS mean,
        min(metric_values."value") AS least,
        max(metric_values."value") AS largest
    FROM metric_values
    INNER JOIN asked_series USING (stream_id)
    GROUP BY ALL
)
SELECT
    sender_name,
    service_name,
    host_name,
    model,
    window_number,
    count(*) AS series_count,
    sum(point_count)::BIGINT AS point_count,
    avg(mean) AS mean,
    sum(mean) AS total,
    min(least) AS least,
    max(largest) AS largest
FROM by_series
GROUP BY ALL
ORDER BY sender_name, service_name, host_name, model, window_number
