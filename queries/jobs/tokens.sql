-- Tokens that each job trained on, as its processes counted them.
--
-- Counters start anew with each process. Lost steps are counted too: nobody takes them back.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   tokens: number of tokens over all processes.
WITH
readings AS (
    SELECT
        streams.resource_id,
        streams.stream_id,
        streams.temporality,
        coalesce(points.value_int, points.value_double) AS reading
    FROM base.metric_points AS points
    INNER JOIN base.metric_streams AS streams USING (stream_id)
    WHERE streams.name IN ('tracekit.training.tokens', 'tracekit.job.tokens') AND streams.kind = 'sum'
),
by_stream AS (
    SELECT
        resource_id,
        stream_id,
        CASE WHEN any_value(temporality) = 1 THEN sum(reading) ELSE max(reading) END AS tokens
    FROM readings
    GROUP BY resource_id, stream_id
)
SELECT
    resources.job_id,
    sum(by_stream.tokens)::BIGINT AS tokens
FROM by_stream
INNER JOIN base.resources AS resources USING (resource_id)
WHERE resources.job_id IS NOT NULL AND ($job IS NULL OR resources.job_id = $job)
GROUP BY resources.job_id
ORDER BY resources.job_id
