-- How many accelerators a job held, as its scheduler's gauge read.
--
-- Reads job_resources.
-- Parameters:
--   $job: the job.
-- Columns:
--   time_ns: when it was read, nanoseconds since the epoch.
--   host: who read it, NULL where unknown.
--   accelerators: the reading.
SELECT
    points.time_ns,
    job_resources.host,
    coalesce(points.value_int, points.value_double)::BIGINT AS accelerators
FROM base.metric_points AS points
INNER JOIN base.metric_streams AS streams USING (stream_id)
INNER JOIN job_resources USING (resource_id)
WHERE job_resources.job_id = $job AND streams.name = 'tracekit.job.accelerators.granted'
ORDER BY points.time_ns
