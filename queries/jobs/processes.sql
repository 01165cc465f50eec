-- The processes of a job and when they were seen.
--
-- Reads job_resources.
-- Parameters:
--   $job: the job.
-- Columns:
--   resource_id, attempt, rank, world_size, host, pipeline_stage, is_adopted: as in job_resources.
--   first_ns, last_ns: earliest start and latest end of its spans, nanoseconds since the epoch.
--   span_count: number of its spans.
SELECT
    job_resources.* EXCLUDE (job_id),
    min(spans.start_ns) AS first_ns,
    max(greatest(spans.start_ns, spans.end_ns)) AS last_ns,
    count(*) AS span_count
FROM base.spans
INNER JOIN job_resources USING (resource_id)
WHERE job_resources.job_id = $job
GROUP BY ALL
