-- Operations of Text Generation Inference and its relatives (LoRAX): the handlers `generate`,
-- `generate_stream`, `chat_completions` and `completions`, whose attributes tell three durations that
-- follow each other, as Rust prints them (`1.2s`, `12.3ms`, `987.6µs`, `45ns`): validation_time,
-- queue_time, inference_time (router/src/server.rs). What lies inside a handler (`async_stream`, the
-- inner `generate`, `infer`, `queued`) covers the same time and is cut at the same places.
--
-- Prefill and decode cannot be told apart: `time_per_token` is inference_time over the number of
-- tokens, which gives that number back, but no first token. A duration that cannot be read, or is
-- longer than its span by more than 1 ms + 1 %, is a conflict: none of the span is used.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with its own name after a slash.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the
--     span.
--   source, quality: what a part rests on.
--   vantage: engine, for handlers.
--   output_tokens: count, from time_per_token.
--   outcome: ok where the handler measured its inference.
--   conflicts: `durations` where they were not used.
WITH
handlers AS MATERIALIZED (
    SELECT
        *,
        attributes['validation_time']::VARCHAR AS validation_text,
        attributes['queue_time']::VARCHAR AS queue_text,
        attributes['inference_time']::VARCHAR AS inference_text,
        attributes['time_per_token']::VARCHAR AS per_token_text
    FROM batch_spans
    WHERE attributes['inference_time'] IS NOT NULL AND attributes['queue_time'] IS NOT NULL
),
told AS (
    SELECT
        span_row,
        unnest(['validation', 'queue', 'inference', 'per_token']) AS duration,
        unnest([validation_text, queue_text, inference_text, per_token_text]) AS told_text
    FROM handlers
),
durations AS (
    SELECT
        span_row,
        duration,
        round(
            TRY_CAST(regexp_extract(told_text, '^([0-9.]+)(?:ns|[µμ]s|ms|s)$', 1) AS DOUBLE)
            * CASE regexp_extract(told_text, '[^0-9.]+$')
                WHEN 's' THEN 1e9
                WHEN 'ms' THEN 1e6
                WHEN 'ns' THEN 1
                ELSE 1e3
            END
        ) AS duration_ns
    FROM told
),
measured AS (
    SELECT
        span_row,
        any_value(duration_ns) FILTER (WHERE duration = 'validation') AS validation_ns,
        any_value(duration_ns) FILTER (WHERE duration = 'queue') AS queue_ns,
        any_value(duration_ns) FILTER (WHERE duration = 'inference') AS inference_ns,
        any_value(duration_ns) FILTER (WHERE duration = 'per_token') AS per_token_ns
    FROM durations
    GROUP BY span_row
),
placed AS MATERIALIZED (
    SELECT
        handlers.span_row,
        handlers.trace_no,
        handlers.span_id,
        handlers.name,
        handlers.resource_id,
        handlers.start_ns,
        handlers.end_ns,
        measured.inference_ns IS NOT NULL AND measured.queue_ns IS NOT NULL
        AND coalesce(measured.validation_ns, 0) + measured.queue_ns + measured.inference_ns
        <= (handlers.end_ns - handlers.start_ns) * 1.01 + 1000000 AS is_usable,
        CASE
            WHEN is_usable THEN handlers.start_ns + coalesce(measured.validation_ns, 0)::BIGINT
        END AS queued_ns,
        CASE WHEN is_usable THEN queued_ns + measured.queue_ns::BIGINT END AS scheduled_ns,
        CASE WHEN is_usable THEN scheduled_ns + measured.inference_ns::BIGINT END AS inferred_ns,
        CASE
            WHEN is_usable AND measured.per_token_ns > 0
                THEN round(measured.inference_ns / measured.per_token_ns)::BIGINT
        END AS output_tokens
    FROM handlers
    INNER JOIN measured USING (span_row)
),
inside AS (
    SELECT inner_span.span_row, inner_span.name, placed.* EXCLUDE (span_row, name)
    FROM placed
    INNER JOIN batch_spans AS inner_span
        ON inner_span.trace_no = placed.trace_no
        AND inner_span.resource_id = placed.resource_id
        AND inner_span.span_row != placed.span_row
        AND inner_span.start_ns >= placed.start_ns
        AND inner_span.end_ns <= placed.end_ns + 1000000
    WHERE inner_span.name IN ('generate', 'generate_stream', 'async_stream', 'infer', 'queued')
        AND inner_span.attributes['inference_time'] IS NULL
),
known AS (
    SELECT * FROM placed
    UNION ALL BY NAME
    SELECT * FROM inside
),
parts AS (
    SELECT
        span_row,
        1 AS part,
        'fe.preprocess' AS stage,
        name || '/validation' AS operation,
        NULL AS start_ns,
        queued_ns AS end_ns
    FROM known
    UNION ALL
    SELECT span_row, 2, 'eng.queue', name || '/queue', queued_ns, scheduled_ns
    FROM known
    UNION ALL
    SELECT
        span_row,
        3,
        'unsplit(eng.decode|eng.prefill)',
        name || '/inference',
        scheduled_ns,
        inferred_ns
    FROM known
)
SELECT
    span_row,
    0 AS part,
    'unattributed' AS stage,
    name AS operation,
    'engine' AS vantage,
    output_tokens,
    CASE WHEN is_usable THEN 'ok' END AS outcome,
    CASE WHEN NOT is_usable THEN 'durations' END AS conflicts
FROM placed
UNION ALL BY NAME
SELECT span_row, 0 AS part, 'unattributed' AS stage, name AS operation
FROM inside
UNION ALL BY NAME
SELECT
    *,
    'attribute' AS source,
    CASE WHEN part = 3 THEN 'unsplit' ELSE 'observed' END AS quality
FROM parts
WHERE end_ns IS NOT NULL AND (start_ns IS NULL OR start_ns < end_ns)
