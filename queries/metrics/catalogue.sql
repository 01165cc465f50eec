-- Which metrics a store has, one row a metric of a service.
--
-- Columns:
--   metric: canonical name, or the sender's where there is none.
--   sender_name: the sender's name.
--   unit: unit of the values.
--   kind: gauge, sum, histogram, exponential_histogram or summary.
--   stage: the stage that it explains, NULL where none.
--   service_name: service.
--   host_count: hosts that sent it.
--   series_count: series.
--   point_count: points.
--   first_ns: time of the first point, nanoseconds since the epoch.
--   last_ns: time of the last point.
WITH
points AS (
    SELECT stream_id, time_ns FROM base.metric_points
    UNION ALL
    SELECT stream_id, time_ns FROM base.metric_histograms
    UNION ALL
    SELECT stream_id, time_ns FROM base.metric_summaries
),
counted AS (
    SELECT stream_id, count(*) AS point_count, min(time_ns) AS first_ns, max(time_ns) AS last_ns
    FROM points
    GROUP BY stream_id
)
SELECT
    metric_series.metric,
    metric_series.sender_name,
    metric_series.unit,
    metric_series.kind,
    metric_series.stage,
    metric_series.service_name,
    count(DISTINCT metric_series.host_name) AS host_count,
    count(*) AS series_count,
    sum(counted.point_count)::BIGINT AS point_count,
    min(counted.first_ns) AS first_ns,
    max(counted.last_ns) AS last_ns
FROM metric_series
INNER JOIN counted USING (stream_id)
GROUP BY ALL
ORDER BY metric_series.metric, metric_series.sender_name, metric_series.service_name, metric_series.unit
