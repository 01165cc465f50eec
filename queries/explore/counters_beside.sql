-- Gauges as they stood and counters as rates in a range of time, from the hosts and services that worked in it.
--
-- Each series begins with its last reading before the range, so that a value is known from the first moment on.
--
-- Parameters:
--   $first_ns: start of the range, nanoseconds since the epoch.
--   $last_ns: its end.
--   $hosts: names of the hosts, as a list.
--   $services: names of the services, as a list.
-- Columns:
--   series: name of the metric with what tells the series from others.
--   unit: unit of the values; a counter's is by the second.
--   time_ns: time of the reading, nanoseconds since the epoch.
--   value: the value of a gauge; of a counter how much a second it counted since the reading before.
WITH
beside AS (
    SELECT
        stream_id,
        unit,
        concat_ws(
            ' · ', metric, host_name,
            nullif(regexp_replace(attributes::VARCHAR, '[{}'']', '', 'g'), ''),
            service_name
        ) AS series
    FROM metric_series
    WHERE list_contains($hosts::VARCHAR[], host_name) OR list_contains($services::VARCHAR[], service_name)
),
readings AS (
    SELECT
        beside.series,
        beside.unit,
        metric_values.time_ns,
        metric_values."value"
    FROM metric_values
    INNER JOIN beside USING (stream_id)
    WHERE metric_values.time_ns < $last_ns
    UNION ALL
    SELECT
        beside.series,
        concat(beside.unit, '/s') AS unit,
        metric_increases.end_ns AS time_ns,
        metric_increases.increase * 1e9 / (metric_increases.end_ns - metric_increases.start_ns) AS "value"
    FROM metric_increases
    INNER JOIN beside USING (stream_id)
    WHERE metric_increases.end_ns < $last_ns AND metric_increases.start_ns < metric_increases.end_ns
),
since AS (
    SELECT
        series,
        coalesce(max(time_ns) FILTER (WHERE time_ns <= $first_ns), min(time_ns)) AS since_ns
    FROM readings
    GROUP BY series
)
SELECT
    readings.series,
    readings.unit,
    readings.time_ns,
    readings."value" AS "value"
FROM readings
INNER JOIN since USING (series)
WHERE readings.time_ns >= since.since_ns
ORDER BY readings.series, readings.time_ns
