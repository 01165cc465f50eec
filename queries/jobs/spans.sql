-- The spans of a job that say where it is in its life: scheduling, start, progress, saves, its end.
--
-- A span says it by the attribute `tracekit.stage`, or by its name where it has none. Spans inside
-- steps are not here: they are in the units of the steps.
--
-- Reads job_resources.
-- Parameters:
--   $job: the job.
-- Columns:
--   resource_id, attempt, rank, host: who sent it; attempt and rank of the span itself first.
--   trace_id: text of the id.
--   span_id, parent_span_id: ids as numbers.
--   start_ns, end_ns: nanoseconds since the epoch.
--   name: name of the span.
--   phase: job, attempt, queue, gang_wait, provision, init, load, run, steps, step, save, write, custom, detect,
--     recover, idle or post.
--   is_error: whether its status is an error.
--   step: number of the step that it names.
--   first_step, last_step: numbers of the steps that it sums up, or of the last one that it saved.
--   restored_step: number of the last step that was restored.
--   world_size, accelerators: ranks of the attempt, accelerators of the job.
WITH
words (word, phase) AS (
    VALUES
        ('job', 'job'), ('attempt', 'attempt'), ('step', 'step'), ('steps', 'steps'), ('run', 'run'),
        ('queue', 'queue'), ('job.queue', 'queue'), ('gang_wait', 'gang_wait'), ('job.gang_wait', 'gang_wait'),
        ('provision', 'provision'), ('job.provision', 'provision'), ('init', 'init'), ('job.init', 'init'),
        ('checkpoint_load', 'load'), ('job.checkpoint_load', 'load'), ('checkpoint_save', 'save'),
        ('job.checkpoint_save', 'save'), ('checkpoint_write', 'write'), ('custom', 'custom'),
        ('job.custom', 'custom'), ('detect', 'detect'), ('job.detect', 'detect'), ('recover', 'recover'),
        ('teardown', 'recover'), ('job.recover', 'recover'), ('job.degraded_idle', 'idle'), ('post', 'post'),
        ('release', 'post'), ('job.post', 'post')
),
told AS (
    SELECT
        spans.*,
        job_resources.attempt AS process_attempt,
        job_resources.rank AS process_rank,
        job_resources.world_size AS process_world_size,
        job_resources.host,
        coalesce(spans.attributes['tracekit.stage']::VARCHAR, spans.name) AS word,
        coalesce(TRY_CAST(spans.attributes['tracekit.async'] AS BOOLEAN), FALSE) AS is_async
    FROM base.spans
    INNER JOIN job_resources USING (resource_id)
    WHERE job_resources.job_id = $job
)
SELECT
    told.resource_id,
    coalesce(TRY_CAST(told.attributes['tracekit.attempt'] AS INTEGER), told.process_attempt) AS attempt,
    coalesce(told.process_rank, TRY_CAST(told.attributes['tracekit.rank'] AS INTEGER)) AS rank,
    told.host,
    told.trace_id::VARCHAR AS trace_id,
    told.span_id,
    told.parent_span_id,
    told.start_ns,
    greatest(told.start_ns, told.end_ns) AS end_ns,
    told.name,
    CASE WHEN told.is_async AND words.phase = 'save' THEN 'write' ELSE words.phase END AS phase,
    told.status_code = 2 AS is_error,
    TRY_CAST(told.attributes['tracekit.step'] AS BIGINT) AS step,
    TRY_CAST(told.attributes['tracekit.steps.first'] AS BIGINT) AS first_step,
    TRY_CAST(told.attributes['tracekit.steps.last'] AS BIGINT) AS last_step,
    TRY_CAST(told.attributes['tracekit.steps.restored'] AS BIGINT) AS restored_step,
    coalesce(TRY_CAST(told.attributes['tracekit.world_size'] AS INTEGER), told.process_world_size) AS world_size,
    TRY_CAST(told.attributes['tracekit.job.accelerators'] AS INTEGER) AS accelerators
FROM told
INNER JOIN words USING (word)
