-- Where gauges stood when the units of the tail began, and when those of the rest did, by host.
--
-- The reading before a unit's start counts, where it is not older than the limit. Starts are rounded to a width that keeps
-- them few. Only metrics that stand beside a stage are looked at (`metric_names`).
-- Reads tail_members (`unit_id`, `band`; band 0 = tail).
--
-- Parameters:
--   $rest_band: number of the band that the tail is compared with.
--   $oldest_ns: how old a reading may be, in nanoseconds.
-- Columns:
--   stage: the stage that the metric stands beside.
--   metric: canonical name.
--   unit: unit of the values.
--   sender_name: the sender's name.
--   host_name: host that sent it.
--   tail_mean: mean over the units of the tail.
--   rest_mean: mean over the units of the rest.
--   tail_largest: largest value at the start of a unit of the tail.
--   tail_count: units of the tail with a reading.
--   rest_count: units of the rest with a reading.
WITH
series AS (
    SELECT stream_id, stage, metric, unit, sender_name, coalesce(host_name, service_name) AS host_name
    FROM metric_series
    WHERE stage IS NOT NULL AND kind = 'gauge'
),
members AS (
    SELECT tail_members.band, units.start_ns
    FROM tail_members
    INNER JOIN base.units USING (unit_id)
    WHERE tail_members.band IN (0, $rest_band) AND units.kind = 'request' AND EXISTS (FROM series)
),
width AS (
    SELECT greatest((max(start_ns) - min(start_ns)) // 500, 1_000_000_000) AS width_ns
    FROM members
),
moments AS (
    SELECT
        members.band,
        members.start_ns // width.width_ns * width.width_ns AS moment_ns,
        count(*) AS unit_count
    FROM members
    CROSS JOIN width
    GROUP BY ALL
),
readings AS (
    SELECT
        series.stage, series.metric, series.unit, series.sender_name, series.host_name,
        metric_values.time_ns,
        avg(metric_values."value") AS "value"
    FROM metric_values
    INNER JOIN series USING (stream_id)
    GROUP BY ALL
),
places AS (
    SELECT DISTINCT stage, metric, unit, sender_name, host_name FROM readings
),
placed AS (
    SELECT places.*, moments.*
    FROM places
    CROSS JOIN moments
),
met AS (
    SELECT placed.*, readings."value"
    FROM placed
    ASOF INNER JOIN readings
        ON placed.stage = readings.stage AND placed.metric = readings.metric
        AND placed.sender_name = readings.sender_name
        AND placed.host_name IS NOT DISTINCT FROM readings.host_name
        AND placed.moment_ns >= readings.time_ns
    WHERE placed.moment_ns - readings.time_ns <= $oldest_ns
)
SELECT
    stage,
    metric,
    unit,
    sender_name,
    host_name,
    sum("value" * unit_count) FILTER (WHERE band = 0) / sum(unit_count) FILTER (WHERE band = 0) AS tail_mean,
    sum("value" * unit_count) FILTER (WHERE band = $rest_band)
    / sum(unit_count) FILTER (WHERE band = $rest_band) AS rest_mean,
    max("value") FILTER (WHERE band = 0) AS tail_largest,
    coalesce(sum(unit_count) FILTER (WHERE band = 0), 0)::BIGINT AS tail_count,
    coalesce(sum(unit_count) FILTER (WHERE band = $rest_band), 0)::BIGINT AS rest_count
FROM met
GROUP BY ALL
ORDER BY stage, metric, sender_name, host_name
