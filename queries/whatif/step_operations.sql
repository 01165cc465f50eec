-- The operations that the steps of training jobs consist of, to be replayed under a change.
--
-- An operation is a span of a rank that lies in one of its steps and has no span below it there: the time of a span
-- that others fill is theirs. Spans that hold nobody up (tracekit.async) are left out. The first step of an attempt
-- warms up, steps that did not end well on every rank are cut short, and of steps that ranks have several times it is
-- not known which spans belong together; none of them is replayed.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   step: number of attempt and step together, from 1, in order.
--   stretch: steps that follow each other without one missing share it.
--   rank, host: the rank and its host, NULL where unknown.
--   data_parallel_rank, pipeline_stage: its coordinates in the mesh, NULL where unknown.
--   operation: name of the span.
--   collective: the collective it is one rank's part of, NULL for none.
--   group: whose ranks take part in it, NULL for none.
--   collective_sequence: which collective of the group, NULL where it does not say.
--   sequence, chunk, model_chunk: of an imported operation whose dependencies are known by its name, its number among
--     those of its name, and its model chunk; else NULL.
--   start_ns, end_ns: nanoseconds since the epoch, on the clock that all ranks of the step were put on.
--   span_id: the span, as a number.
WITH
units AS (
    SELECT
        coalesce(job_id, '') AS job,
        coalesce(attempt, -1) AS attempt,
        step AS step_no,
        coalesce(rank, 0) AS rank,
        root_span_id,
        start_ns,
        end_ns,
        coalesce(shift_ns, 0) AS shift_ns
    FROM base.units
    WHERE kind = 'step' AND ($job IS NULL OR job_id = $job)
    QUALIFY
        step > min(step) OVER (PARTITION BY job_id, attempt)
        AND bool_and(outcome = 'ok') OVER (PARTITION BY job_id, attempt, step)
        AND NOT bool_or(coalesce(flags LIKE '%several_step_spans%', FALSE)) OVER (PARTITION BY job_id, attempt, step)
),
steps AS (
    SELECT
        *,
        dense_rank() OVER (ORDER BY job, attempt, place) AS stretch
    FROM (
        SELECT
            job,
            attempt,
            step_no,
            dense_rank() OVER (ORDER BY job, attempt, step_no) AS step,
            dense_rank() OVER (ORDER BY job, attempt, step_no) - step_no AS place
        FROM (SELECT DISTINCT job, attempt, step_no FROM units) AS distinct_steps
    ) AS placed
),
numbered AS (
    SELECT
        units.*,
        steps.step,
        steps.stretch
    FROM units
    INNER JOIN steps USING (job, attempt, step_no)
),
senders AS (
    SELECT
        resource_id,
        coalesce(job_id, '') AS job,
        coalesce(attempt, CASE WHEN job_id IS NULL AND rank IS NULL THEN -1 ELSE 0 END) AS attempt,
        coalesce(rank, 0) AS rank,
        host_name AS host,
        TRY_CAST(attributes['tracekit.parallel.dp']::VARCHAR AS BIGINT) AS data_parallel_rank,
        TRY_CAST(attributes['tracekit.parallel.pp']::VARCHAR AS BIGINT) AS pipeline_stage
    FROM base.resources
    WHERE job_id IS NOT NULL OR attempt IS NOT NULL OR rank IS NOT NULL
),
known AS (
    SELECT count(*) > 0 AS has_dependencies
    FROM base.spans
    WHERE name = 'forward-compute'
),
-- Read where the spans are scanned: behind a join every attribute of a span would be read for each of them.
told AS (
    SELECT
        resource_id,
        span_id,
        parent_span_id,
        name AS operation,
        start_ns,
        greatest(start_ns, end_ns) AS end_ns,
        attributes['tracekit.stage']::VARCHAR AS stage,
        TRY_CAST(attributes['tracekit.async'] AS BOOLEAN) AS is_async,
        attributes['tracekit.collective.name']::VARCHAR AS collective,
        attributes['tracekit.collective.group']::VARCHAR AS "group",
        TRY_CAST(attributes['tracekit.collective.seq'] AS BIGINT) AS collective_sequence,
        CASE WHEN (SELECT has_dependencies FROM known) THEN
            TRY_CAST(attributes['tracekit.operation.sequence'] AS BIGINT)
        END AS sequence,
        CASE WHEN (SELECT has_dependencies FROM known) THEN
            TRY_CAST(attributes['tracekit.operation.chunk'] AS BIGINT)
        END AS chunk,
        CASE WHEN (SELECT has_dependencies FROM known) THEN
            TRY_CAST(attributes['tracekit.operation.model_chunk'] AS BIGINT)
        END AS model_chunk
    FROM base.spans
),
candidates AS (
    SELECT
        senders.job,
        senders.attempt,
        senders.rank,
        senders.host,
        senders.data_parallel_rank,
        senders.pipeline_stage,
        told.* EXCLUDE (resource_id, stage, is_async)
    FROM told
    INNER JOIN senders USING (resource_id)
    WHERE NOT coalesce(told.is_async, FALSE) AND coalesce(told.stage, '') NOT IN ('step', 'attempt')
),
rooted AS (
    SELECT
        candidates.*,
        numbered.step,
        numbered.stretch,
        numbered.shift_ns
    FROM candidates
    LEFT JOIN numbered
        ON candidates.parent_span_id = numbered.root_span_id
        AND candidates.job = numbered.job
        AND candidates.attempt = numbered.attempt
        AND candidates.rank = numbered.rank
        AND candidates.start_ns >= numbered.start_ns
        AND candidates.start_ns < numbered.end_ns
),
-- A span whose parent is no step lies in the step that its rank was in.
elsewhere AS (
    SELECT
        rooted.* EXCLUDE (step, stretch, shift_ns),
        numbered.step,
        numbered.stretch,
        numbered.shift_ns,
        numbered.end_ns AS step_end_ns
    FROM rooted
    ASOF INNER JOIN numbered
        ON rooted.job = numbered.job
        AND rooted.attempt = numbered.attempt
        AND rooted.rank = numbered.rank
        AND rooted.start_ns >= numbered.start_ns
    WHERE rooted.step IS NULL
),
in_steps AS (
    SELECT * FROM rooted WHERE step IS NOT NULL
    UNION ALL BY NAME
    SELECT * EXCLUDE (step_end_ns) FROM elsewhere WHERE start_ns < step_end_ns
)
SELECT
    in_steps.step,
    in_steps.stretch,
    in_steps.rank,
    in_steps.host,
    in_steps.data_parallel_rank,
    in_steps.pipeline_stage,
    in_steps.operation,
    in_steps.collective,
    in_steps."group",
    in_steps.collective_sequence,
    in_steps.sequence,
    in_steps.chunk,
    in_steps.model_chunk,
    in_steps.start_ns + in_steps.shift_ns AS start_ns,
    in_steps.end_ns + in_steps.shift_ns AS end_ns,
    in_steps.span_id
FROM in_steps
-- What others fill; the parent of a span that lies directly in a step is that step.
ANTI JOIN elsewhere AS children
    ON in_steps.span_id = children.parent_span_id
    AND in_steps.step = children.step
    AND in_steps.rank = children.rank
