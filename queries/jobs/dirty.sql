-- Jobs about which something arrived that is not in their units yet.
--
-- Reads job_resources and the variable `jobs_built_through`.
-- Columns:
--   job_id: the job, as its processes name it.
WITH
late AS (
    SELECT resource_id FROM base.spans WHERE ingest_id > getvariable('jobs_built_through')
    UNION
    SELECT resource_id FROM base.logs WHERE ingest_id > getvariable('jobs_built_through')
    UNION
    SELECT streams.resource_id
    FROM base.metric_points AS points
    INNER JOIN base.metric_streams AS streams USING (stream_id)
    WHERE points.ingest_id > getvariable('jobs_built_through')
        AND streams.name = 'tracekit.job.accelerators.granted'
),
hosts AS (
    SELECT DISTINCT resources.host_name AS host
    FROM late
    INNER JOIN base.resources USING (resource_id)
    WHERE resources.host_name IS NOT NULL
)
SELECT DISTINCT job_id
FROM job_resources
WHERE resource_id IN (SELECT resource_id FROM late) OR host IN (SELECT host FROM hosts)
ORDER BY job_id
