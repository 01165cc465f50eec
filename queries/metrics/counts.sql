-- Counters over time: how much was counted in each window of the clock, and how fast.
--
-- An increase belongs to the window in which it was read. A rate is the sum of the series' own rates, so that series
-- that are read at other times add up.
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
--   increase: how much was counted.
--   rate_per_s: how much a second; NULL where no time passed.
--   restart_count: how often a counter began again.
WITH
by_series AS (
    SELECT
        asked_series.* EXCLUDE (metric, unit, kind),
        (metric_increases.end_ns - $first_ns) // $every_ns AS window_number,
        count(*) AS point_count,
        sum(metric_increases.increase) AS increase,
        sum(metric_increases.end_ns - metric_increases.start_ns) AS covered_ns,
        count(*) FILTER (WHERE metric_increases.is_reset) AS restart_count
    FROM metric_increases
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
    sum(increase) AS increase,
    sum(increase / nullif(covered_ns, 0) * 1e9) AS rate_per_s,
    sum(restart_count)::BIGINT AS restart_count
FROM by_series
GROUP BY ALL
ORDER BY sender_name, service_name, host_name, model, window_number
