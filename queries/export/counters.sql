-- Points of gauges and sums, to export, as they were sent.
--
-- Parameters:
--   $first_ns: points before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: points from it on are left out; NULL for no limit.
-- Columns:
--   resource_id: who sent the point.
--   time_ns: its time, nanoseconds since the epoch.
--   name_json: name of the metric with what tells the series from others, as a JSON string.
--   value_json: the value as a JSON number; NULL where it is none (not a number, infinite, or no value recorded).
SELECT
    metric_streams.resource_id,
    metric_points.time_ns,
    to_json(
        concat_ws(' ', metric_streams.name, nullif(metric_streams.attributes::VARCHAR, '{}'),
            '(' || nullif(metric_streams.unit, '') || ')')
    )::VARCHAR AS name_json,
    CASE
        WHEN metric_points.flags & 1 = 1 THEN NULL
        WHEN metric_points.value_int IS NOT NULL THEN metric_points.value_int::VARCHAR
        WHEN isfinite(metric_points.value_double) THEN to_json(metric_points.value_double)::VARCHAR
    END AS value_json
FROM base.metric_points
INNER JOIN base.metric_streams USING (stream_id)
WHERE
    ($first_ns::BIGINT IS NULL OR metric_points.time_ns >= $first_ns)
    AND ($last_ns::BIGINT IS NULL OR metric_points.time_ns < $last_ns)
ORDER BY metric_streams.resource_id, name_json, metric_points.time_ns
