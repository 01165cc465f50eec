-- Who sends telemetry about which training job: processes of the job, its scheduler and its hosts.
--
-- A resource belongs to the job that it names, else to the one that its spans name, else to the
-- only job in whose traces its spans lie. Ranks without any job are a job of their own, ''.
--
-- Made into the temporary table `job_resources`.
-- Columns:
--   resource_id: the resource.
--   job_id: the job.
--   attempt, rank, world_size: NULL where the resource does not say.
--   host: name of the host, NULL where unknown.
--   pipeline_stage: coordinate in the pipeline, NULL where unknown.
--   is_adopted: whether the job comes from the resource's spans or their traces.
WITH
said AS (
    SELECT
        resource_id,
        job_id,
        attempt,
        rank,
        world_size,
        host_name AS host,
        TRY_CAST(attributes['tracekit.parallel.pp'] AS INTEGER) AS pipeline_stage
    FROM base.resources
),
-- Only who speaks of training can be adopted: stores of requests stop here.
silent AS (
    SELECT resource_id
    FROM said
    WHERE job_id IS NULL
        AND (
            attempt IS NOT NULL OR rank IS NOT NULL OR resource_id IN (
                SELECT resource_id FROM base.span_attribute_keys WHERE key IN ('tracekit.job.id', 'tracekit.stage')
            )
        )
        AND (SELECT count(*) FROM said WHERE job_id IS NOT NULL OR rank IS NOT NULL) > 0
),
silent_spans AS (
    SELECT
        spans.resource_id,
        spans.trace_id,
        spans.attributes['tracekit.job.id']::VARCHAR AS own_job
    FROM base.spans
    SEMI JOIN silent USING (resource_id)
),
own AS (
    SELECT resource_id, min(own_job) AS job_id
    FROM silent_spans
    WHERE own_job IS NOT NULL
    GROUP BY resource_id
    HAVING count(DISTINCT own_job) = 1
),
traces AS (
    SELECT DISTINCT spans.trace_id, said.job_id
    FROM base.spans
    INNER JOIN said USING (resource_id)
    WHERE said.job_id IS NOT NULL
    UNION
    SELECT DISTINCT trace_id, own_job
    FROM silent_spans
    WHERE own_job IS NOT NULL
),
neighbours AS (
    SELECT silent_spans.resource_id, min(traces.job_id) AS job_id
    FROM silent_spans
    INNER JOIN traces USING (trace_id)
    GROUP BY silent_spans.resource_id
    HAVING count(DISTINCT traces.job_id) = 1
)
SELECT
    said.resource_id,
    coalesce(said.job_id, own.job_id, neighbours.job_id, '') AS job_id,
    said.attempt,
    said.rank,
    said.world_size,
    said.host,
    said.pipeline_stage,
    said.job_id IS NULL AS is_adopted
FROM said
LEFT JOIN own USING (resource_id)
LEFT JOIN neighbours USING (resource_id)
WHERE coalesce(said.job_id, own.job_id, neighbours.job_id) IS NOT NULL OR said.rank IS NOT NULL
