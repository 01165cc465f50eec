-- Buckets of histograms over time, those of a group added up where they have the same ends.
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
--   low: lower end of the bucket, NULL where it has none.
--   high: upper end of the bucket, NULL where it has none.
--   count: values in it.
SELECT
    asked_series.sender_name,
    asked_series.service_name,
    asked_series.host_name,
    asked_series.model,
    (histogram_buckets.end_ns - $first_ns) // $every_ns AS window_number,
    histogram_buckets.low,
    histogram_buckets.high,
    sum(histogram_buckets.count)::DOUBLE AS count
FROM histogram_buckets
INNER JOIN asked_series USING (stream_id)
GROUP BY ALL
HAVING sum(histogram_buckets.count) > 0
ORDER BY ALL
