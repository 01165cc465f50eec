-- From when until when the asked series have points.
--
-- Reads asked_series.
--
-- Columns:
--   first_ns: time of the first point, nanoseconds since the epoch; NULL where there is none.
--   last_ns: time of the last point.
WITH
points AS (
    SELECT time_ns FROM base.metric_points SEMI JOIN asked_series USING (stream_id)
    UNION ALL
    SELECT time_ns FROM base.metric_histograms SEMI JOIN asked_series USING (stream_id)
)
SELECT
    min(time_ns) AS first_ns,
    max(time_ns) AS last_ns
FROM points
