-- Histograms over time: how many values were counted in each window of the clock, and their mean.
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
--   series_count: series that were read in the window.
--   point_count: how often they were read.
--   increase: values that were counted.
--   mean: their mean; NULL where a sender gave no sum.
--   rate_per_s: values a second.
--   restart_count: how often a histogram began again.
--   unsplit_count: values whose buckets are not known, because the sender changed its bounds.
WITH
by_series AS (
    SELECT
        asked_series.* EXCLUDE (metric, unit, kind),
        (histogram_increases.end_ns - $first_ns) // $every_ns AS window_number,
        count(*) AS point_count,
        sum(histogram_increases.count) AS increase,
        if(bool_or(histogram_increases.sum IS NULL), NULL, sum(histogram_increases.sum)) AS total,
        sum(histogram_increases.end_ns - histogram_increases.start_ns) AS covered_ns,
        count(*) FILTER (WHERE histogram_increases.is_reset) AS restart_count,
        coalesce(sum(histogram_increases.count) FILTER (WHERE NOT histogram_increases.has_buckets), 0) AS unsplit_count
    FROM histogram_increases
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
    sum(increase)::DOUBLE AS increase,
    if(bool_or(total IS NULL), NULL, sum(total) / nullif(sum(increase), 0)) AS mean,
    sum(increase / nullif(covered_ns, 0) * 1e9) AS rate_per_s,
    sum(restart_count)::BIGINT AS restart_count,
    sum(unsplit_count)::DOUBLE AS unsplit_count
FROM by_series
GROUP BY ALL
ORDER BY sender_name, service_name, host_name, model, window_number
