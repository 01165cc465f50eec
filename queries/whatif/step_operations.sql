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
--   job, attempt: whose step it is; the job is '' and the attempt -1 where unknown.
--   step_no: number of the step.
--   step: number of attempt and step together, from 1, in order.
--   stretch: steps that follow each other without one missing share it.
--   rank, host: the rank and its host, NULL where unknown.
--   data_parallel_rank, pipeline_stage: its coordinates in the mesh, NULL where unknown.
--   operation: name of the span.
--   stage: what the span says of its stage, NULL for nothing.
--   collective: the collective it is one rank's part of, NULL for none.
--   group: whose ranks take part in it, NULL for none.
--   collective_sequence: which collective of the group, NULL where it does not say.
--   bytes: payload of the collective.
--   sequence, chunk, model_chunk: of an imported operation, its number among those of its name, and its model chunk.
--   start_ns, end_ns: nanoseconds since the epoch, on the clock that all ranks of the step were put on.
--   span_id: the span.
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
numbered AS (
    SELECT
        *,
        dense_rank() OVER (ORDER BY job, attempt, step_no) AS step,
        dense_rank() OVER (ORDER BY job, attempt, step_no) - step_no AS place
    FROM units
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
candidates AS (
    SELECT
        senders.job,
        senders.attempt,
        senders.rank,
        senders.host,
        senders.data_parallel_rank,
        senders.pipeline_stage,
        spans.span_id,
        spans.parent_span_id,
        spans.name AS operation,
        spans.attributes['tracekit.stage']::VARCHAR AS stage,
        spans.attributes['tracekit.collective.name']::VARCHAR AS collective,
        spans.attributes['tracekit.collective.group']::VARCHAR AS "group",
        TRY_CAST(spans.attributes['tracekit.collective.seq'] AS BIGINT) AS collective_sequence,
        TRY_CAST(spans.attributes['tracekit.collective.bytes'] AS BIGINT) AS bytes,
        TRY_CAST(spans.attributes['tracekit.operation.sequence'] AS BIGINT) AS sequence,
        TRY_CAST(spans.attributes['tracekit.operation.chunk'] AS BIGINT) AS chunk,
        TRY_CAST(spans.attributes['tracekit.operation.model_chunk'] AS BIGINT) AS model_chunk,
        spans.start_ns,
        greatest(spans.start_ns, spans.end_ns) AS end_ns
    FROM base.spans
    INNER JOIN senders USING (resource_id)
    WHERE
        NOT coalesce(TRY_CAST(spans.attributes['tracekit.async'] AS BOOLEAN), FALSE)
        AND spans.attributes['tracekit.stage']::VARCHAR IS DISTINCT FROM 'step'
        AND spans.attributes['tracekit.stage']::VARCHAR IS DISTINCT FROM 'attempt'
),
in_steps AS (
    SELECT
        candidates.*,
        numbered.step_no,
        numbered.step,
        dense_rank() OVER (ORDER BY numbered.job, numbered.attempt, numbered.place) AS stretch,
        numbered.end_ns AS step_end_ns,
        numbered.shift_ns
    FROM candidates
    ASOF INNER JOIN numbered
        ON candidates.job = numbered.job
        AND candidates.attempt = numbered.attempt
        AND candidates.rank = numbered.rank
        AND candidates.start_ns >= numbered.start_ns
)
SELECT
    in_steps.job,
    in_steps.attempt,
    in_steps.step_no,
    in_steps.step,
    in_steps.stretch,
    in_steps.rank,
    in_steps.host,
    in_steps.data_parallel_rank,
    in_steps.pipeline_stage,
    in_steps.operation,
    in_steps.stage,
    in_steps.collective,
    in_steps."group",
    in_steps.collective_sequence,
    in_steps.bytes,
    in_steps.sequence,
    in_steps.chunk,
    in_steps.model_chunk,
    in_steps.start_ns + in_steps.shift_ns AS start_ns,
    in_steps.end_ns + in_steps.shift_ns AS end_ns,
    format('{:016x}', in_steps.span_id) AS span_id
FROM in_steps
ANTI JOIN in_steps AS children
    ON in_steps.span_id = children.parent_span_id
    AND in_steps.step = children.step
    AND in_steps.rank = children.rank
WHERE in_steps.start_ns < in_steps.step_end_ns
ORDER BY in_steps.step, in_steps.rank, in_steps.start_ns, in_steps.end_ns, in_steps.span_id
