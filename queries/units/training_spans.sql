-- The spans of every attempt of a training job that has spans which are not in the units yet;
-- where the variable `shown_trace` is set, of every attempt that has spans in that trace.
--
-- Spans of the job level (start, restore, the attempt itself) belong to no step, whatever step
-- they name.
--
-- Made into the temporary table `training_spans`. Reads training_resources and the variables
-- `built_through` and `shown_trace`.
-- Columns:
--   span_row: number of the span in base.spans; constant while a transaction lasts.
--   trace_id, span_id, parent_span_id: ids as numbers.
--   start_ns, end_ns: interval, nanoseconds since the epoch.
--   job_id, attempt, rank, world_size, host, is_sharded: whose span it is, as in training_resources.
--   is_late: whether it is not in the units yet, or in the trace that is shown.
--   is_job_level: whether it can belong to no step.
--   is_step: whether it is the span of a whole step.
--   own_step: number of the step that it names itself, NULL for none.
WITH
touched AS (
    SELECT DISTINCT
        training_resources.job_id,
        training_resources.attempt
    FROM base.spans
    INNER JOIN training_resources USING (resource_id)
    WHERE CASE
        WHEN getvariable('shown_trace') IS NULL THEN spans.ingest_id > getvariable('built_through')
        ELSE spans.trace_id = getvariable('shown_trace')
    END
),
senders AS (
    SELECT training_resources.*
    FROM training_resources
    SEMI JOIN touched
        ON touched.job_id IS NOT DISTINCT FROM training_resources.job_id
        AND touched.attempt = training_resources.attempt
)
SELECT
    spans.rowid AS span_row,
    spans.trace_id,
    spans.span_id,
    spans.parent_span_id,
    spans.start_ns,
    spans.end_ns,
    senders.job_id,
    senders.attempt,
    senders.rank,
    senders.world_size,
    senders.host,
    senders.is_sharded,
    CASE
        WHEN getvariable('shown_trace') IS NULL THEN spans.ingest_id > getvariable('built_through')
        ELSE spans.trace_id = getvariable('shown_trace')
    END AS is_late,
    coalesce(
        spans.attributes['tracekit.stage']::VARCHAR IN ('init', 'checkpoint_load', 'attempt')
        OR spans.attributes['tracekit.stage']::VARCHAR LIKE 'job.%'
        AND spans.attributes['tracekit.stage']::VARCHAR
        NOT IN ('job.checkpoint_save', 'job.custom'),
        FALSE
    ) AS is_job_level,
    coalesce(spans.attributes['tracekit.stage']::VARCHAR = 'step', FALSE) AS is_step,
    TRY_CAST(spans.attributes['tracekit.step'] AS BIGINT) AS own_step
FROM base.spans
INNER JOIN senders USING (resource_id)
