-- Operations of NVIDIA Dynamo: frontend (`http-request`), router (`kv_router.*`), worker endpoints
-- (`handle_payload`), calls into engines (`engine.generate`), and the spans of its lifecycle trace.
-- Spans of the engines below have mappings of their own.
--
-- `kv_router.route_request` is one attempt in one phase. What it spends before the worker's
-- endpoint is the way there, what it spends after it the stream back. Older versions end it after
-- the dispatch: then the frontend itself waits for the worker, and what for is not known. An
-- attempt that another one of its phase follows was in vain, unless the next one says how many
-- tokens it goes on with; the time between two attempts is `retry`.
--
-- Worker endpoints and `worker.operation.*` last while the response is sent. Without spans of the
-- engine below they hold its queue, prefill and decode, which nobody can tell apart;
-- `engine.generate` says at least when the first token came.
--
-- Reads batch_spans, batch_calls.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with its own name after a slash; `edge:caller->callee`
--     for the way to a worker.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the
--     span.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
--   vantage: gateway for frontend and router, engine for calls into an engine without spans.
--   first_token_ns, last_token_ns: nanoseconds since the epoch; the last token follows from the
--     mean gap between tokens.
--   input_tokens, output_tokens: counts.
--   model: name of the model.
--   outcome: how the attempt or the request ended.
--   conflicts: names of the values that were not used, comma-separated.
WITH
known AS MATERIALIZED (
    SELECT
        *,
        greatest(end_ns - start_ns, 0) AS span_ns,
        CASE
            WHEN name = 'http-request' AND coalesce(
                attributes['x_request_id'], attributes['request_id'], attributes['ttft_ms']
            ) IS NOT NULL THEN 'frontend'
            WHEN name = 'kv_router.route_request' THEN 'route'
            WHEN starts_with(name, 'kv_router.') THEN 'choice'
            WHEN name = 'handle_payload' AND coalesce(
                attributes['component'], attributes['instance_id']
            ) IS NOT NULL THEN 'endpoint'
            WHEN name = 'engine.generate' AND coalesce(
                attributes['disagg_role'], attributes['ttft_ms'], attributes['model']
            ) IS NOT NULL THEN 'generate'
            WHEN attributes['dynamo.request.id'] IS NOT NULL THEN 'lifecycle'
        END AS part_of,
        coalesce(
            attributes['disagg_role']::VARCHAR,
            attributes['component']::VARCHAR,
            regexp_extract(name, '^worker\.operation\.(.*)', 1)
        ) AS role,
        said_number(attributes['ttft_ms']) AS ttft_ms,
        CASE WHEN abs(ttft_ms) < 1e12 THEN round(ttft_ms * 1e6)::BIGINT ELSE -1 END AS ttft_said_ns,
        CASE
            WHEN ttft_said_ns BETWEEN 0 AND span_ns + 1000000 + span_ns // 100
                THEN least(ttft_said_ns, span_ns)
        END AS ttft_ns,
        said_number(attributes['avg_itl_ms']) AS gap_ms,
        said_count(attributes['input_tokens']) AS input_tokens,
        said_count(attributes['output_tokens']) AS output_tokens,
        CASE
            WHEN gap_ms IS NOT NULL AND output_tokens > 1
                THEN gap_ms * (output_tokens - 1) * 1e6 BETWEEN 0 AND 1.01 * span_ns + 1e6
        END AS gap_fits,
        attributes['model']::VARCHAR AS model
    FROM batch_spans
    WHERE name IN ('http-request', 'handle_payload', 'engine.generate')
        OR starts_with(name, 'kv_router.')
        OR attributes['dynamo.request.id'] IS NOT NULL
),
routes AS MATERIALIZED (
    SELECT
        known.*,
        known.attributes['request.outcome']::VARCHAR AS said_outcome,
        lead(known.start_ns) OVER attempts AS next_start_ns,
        coalesce(
            TRY_CAST(lead(known.attributes['migration.is_retry']) OVER attempts AS BOOLEAN)
            AND TRY_CAST(
                lead(known.attributes['migration.tokens_completed']) OVER attempts AS BIGINT
            ) > 0,
            FALSE
        ) AS goes_on,
        -- Prefill and decode are not told apart where no span names its phase: then only what failed was in vain.
        coalesce(
            next_start_ns >= known.end_ns AND NOT goes_on AND (
                known.attributes['phase'] IS NOT NULL
                OR known.status_code = 2
                OR said_outcome != 'success'
                OR TRY_CAST(lead(known.attributes['migration.is_retry']) OVER attempts AS BOOLEAN)
            ),
            FALSE
        ) AS in_vain
    FROM known
    WHERE part_of = 'route'
    WINDOW attempts AS (
        PARTITION BY trace_no, parent_span_id, attributes['phase']::VARCHAR
        ORDER BY start_ns, span_id
    )
),
-- What hangs below the spans that wait for others.
below AS MATERIALIZED (
    SELECT
        known.span_row,
        min(child.start_ns) AS start_ns,
        arg_min(child.span_row, child.start_ns) AS first_row,
        max(child.end_ns) AS end_ns,
        arg_max(child.span_row, child.end_ns) AS last_row
    FROM known
    INNER JOIN batch_spans AS child
        ON child.trace_no = known.trace_no AND child.parent_span_id = known.span_id
    WHERE known.part_of IN ('endpoint', 'generate', 'lifecycle')
    GROUP BY known.span_row
),
endpoints AS MATERIALIZED (
    SELECT
        known.*,
        below.start_ns AS below_start_ns,
        below.first_row,
        below.end_ns AS below_end_ns,
        below.last_row,
        coalesce(routes.in_vain, vain_endpoints.in_vain, FALSE) AS in_vain
    FROM known
    LEFT JOIN below USING (span_row)
    LEFT JOIN routes
        ON routes.trace_no = known.trace_no AND routes.span_id = known.parent_span_id
    LEFT JOIN (
        SELECT payload.trace_no, payload.span_id, routes.in_vain
        FROM known AS payload
        INNER JOIN routes
            ON routes.trace_no = payload.trace_no AND routes.span_id = payload.parent_span_id
        WHERE payload.part_of = 'endpoint'
    ) AS vain_endpoints
        ON vain_endpoints.trace_no = known.trace_no
        AND vain_endpoints.span_id = known.parent_span_id
    WHERE known.part_of IN ('endpoint', 'generate')
        OR starts_with(known.name, 'worker.operation.')
),
-- When the last worker that the frontend called was done, and whether a route ended before it.
called AS (
    SELECT
        frontend.span_row,
        frontend.name,
        max(routes.end_ns) AS route_end_ns,
        arg_max(routes.span_row, routes.end_ns) AS route_row,
        max(batch_calls.callee_end_ns) AS worker_end_ns,
        arg_max(batch_calls.callee_row, batch_calls.callee_end_ns) AS worker_row
    FROM known AS frontend
    INNER JOIN routes
        ON routes.trace_no = frontend.trace_no AND routes.parent_span_id = frontend.span_id
    LEFT JOIN batch_calls ON batch_calls.span_row = routes.span_row
    WHERE frontend.part_of = 'frontend'
    GROUP BY frontend.span_row, frontend.name
),
mapped AS (
    SELECT
        span_row,
        name AS operation,
        CASE
            WHEN part_of = 'frontend' THEN 'gw.ingress'
            WHEN name = 'kv_router.schedule' THEN 'gw.queue'
            WHEN part_of = 'choice' THEN 'gw.route'
            WHEN name = 'request.preprocessing' THEN 'fe.preprocess'
            WHEN name IN ('worker.admission', 'request.dispatch') THEN 'fe.dispatch'
            WHEN starts_with(name, 'response.streaming') THEN 'unsplit(eng.decode|out.stream)'
            ELSE 'unattributed'
        END AS stage
    FROM known
    WHERE part_of IN ('frontend', 'choice', 'lifecycle')
        AND NOT starts_with(name, 'worker.operation.')
    UNION ALL
    SELECT span_row, name, CASE WHEN in_vain THEN 'retry' ELSE 'unattributed' END
    FROM routes
    UNION ALL
    SELECT
        span_row,
        name,
        CASE
            WHEN in_vain THEN 'retry'
            WHEN below_start_ns IS NOT NULL OR part_of = 'generate' AND ttft_ns IS NOT NULL
                THEN 'unattributed'
            WHEN role = 'prefill' THEN 'unsplit(eng.prefill|eng.queue)'
            WHEN role = 'encode' THEN 'eng.encode'
            WHEN role = 'decode' THEN 'unsplit(eng.decode|eng.decode_wait|kv.transfer)'
            ELSE 'unsplit(eng.decode|eng.prefill|eng.queue)'
        END
    FROM endpoints
),
parts AS (
    SELECT
        routes.span_row,
        1 AS part,
        'net.dispatch' AS stage,
        'edge:' || routes.service_name || '->' || batch_calls.callee_service AS operation,
        NULL::BIGINT AS start_ns,
        batch_calls.callee_start_ns AS end_ns,
        batch_calls.callee_row AS placed_by
    FROM routes
    INNER JOIN batch_calls USING (span_row)
    WHERE batch_calls.remote_count = 1 AND NOT routes.in_vain
    UNION ALL
    SELECT
        routes.span_row,
        2,
        'out.stream',
        routes.name || '/stream',
        batch_calls.callee_end_ns,
        NULL,
        batch_calls.callee_row
    FROM routes
    INNER JOIN batch_calls USING (span_row)
    WHERE batch_calls.remote_count = 1 AND NOT routes.in_vain
    UNION ALL
    SELECT
        frontend.span_row,
        3,
        'retry',
        routes.name || '/backoff',
        routes.end_ns,
        routes.next_start_ns,
        routes.span_row
    FROM routes
    INNER JOIN known AS frontend
        ON frontend.trace_no = routes.trace_no AND frontend.span_id = routes.parent_span_id
    WHERE routes.end_ns < routes.next_start_ns AND (routes.in_vain OR routes.goes_on)
    UNION ALL
    SELECT
        span_row,
        4,
        'unsplit(eng.decode|eng.prefill|eng.queue)',
        name || '/worker',
        route_end_ns,
        worker_end_ns,
        worker_row
    FROM called
    WHERE worker_end_ns > route_end_ns
    UNION ALL
    SELECT
        span_row,
        5,
        'out.stream',
        name || '/stream',
        greatest(worker_end_ns, route_end_ns),
        NULL,
        route_row
    FROM called
    UNION ALL
    SELECT
        span_row,
        6,
        CASE
            WHEN part_of = 'generate' THEN 'fe.dispatch' ELSE 'unsplit(fe.dispatch|fe.preprocess)'
        END,
        name || '/dispatch',
        NULL,
        below_start_ns,
        first_row
    FROM endpoints
    WHERE below_start_ns IS NOT NULL AND NOT in_vain
    UNION ALL
    SELECT
        span_row,
        7,
        'unsplit(out.detok|out.stream)',
        name || '/output',
        below_end_ns,
        NULL,
        last_row
    FROM endpoints
    WHERE below_end_ns IS NOT NULL AND NOT in_vain
    UNION ALL
    SELECT
        span_row,
        8,
        CASE
            WHEN role = 'decode' THEN 'unsplit(eng.decode_wait|kv.transfer)'
            ELSE 'unsplit(eng.prefill|eng.queue)'
        END,
        name || '/prefill',
        start_ns,
        start_ns + ttft_ns,
        span_row
    FROM endpoints
    WHERE part_of = 'generate' AND below_start_ns IS NULL AND ttft_ns IS NOT NULL AND NOT in_vain
    UNION ALL
    SELECT span_row, 9, 'eng.decode', name || '/decode', start_ns + ttft_ns, NULL, span_row
    FROM endpoints
    WHERE part_of = 'generate' AND below_start_ns IS NULL AND ttft_ns IS NOT NULL AND NOT in_vain
        AND role IS DISTINCT FROM 'prefill'
),
outcomes (said, outcome) AS (
    VALUES
        ('success', 'ok'),
        ('cancelled', 'aborted'),
        ('deadline_exceeded', 'aborted'),
        ('rejected', 'rejected'),
        ('resource_exhausted', 'rejected'),
        ('worker_overloaded', 'rejected'),
        ('worker_disconnected', 'failed'),
        ('connection_failed', 'failed'),
        ('unavailable', 'failed'),
        ('timeout', 'failed'),
        ('timed_out', 'failed'),
        ('failed', 'failed'),
        ('error', 'failed')
),
facts AS (
    SELECT
        span_row,
        'gateway' AS vantage,
        start_ns + ttft_ns AS first_token_ns,
        CASE
            WHEN output_tokens = 1 THEN start_ns + ttft_ns
            WHEN gap_fits THEN least(
                start_ns + ttft_ns + round(gap_ms * (output_tokens - 1) * 1e6)::BIGINT, end_ns
            )
        END AS last_token_ns,
        input_tokens,
        output_tokens,
        model,
        NULL AS outcome,
        nullif(
            concat_ws(
                ',',
                CASE WHEN ttft_ms IS NOT NULL AND ttft_ns IS NULL THEN 'ttft' END,
                CASE WHEN NOT gap_fits THEN 'itl' END
            ),
            ''
        ) AS conflicts
    FROM known
    WHERE part_of = 'frontend'
    UNION ALL BY NAME
    SELECT routes.span_row, 'gateway' AS vantage, outcomes.outcome
    FROM routes
    LEFT JOIN outcomes ON outcomes.said = routes.said_outcome
    UNION ALL BY NAME
    SELECT known.span_row, 'gateway' AS vantage, outcomes.outcome
    FROM known
    INNER JOIN outcomes
        ON outcomes.said = known.attributes['dynamo.request.terminal.outcome']::VARCHAR
    WHERE known.part_of = 'lifecycle'
    UNION ALL BY NAME
    SELECT
        span_row,
        'engine' AS vantage,
        start_ns + ttft_ns AS first_token_ns,
        input_tokens,
        output_tokens,
        model,
        CASE WHEN output_tokens > 0 THEN 'ok' END AS outcome,
        CASE WHEN ttft_ms IS NOT NULL AND ttft_ns IS NULL THEN 'ttft' END AS conflicts
    FROM endpoints
    WHERE part_of = 'generate' AND below_start_ns IS NULL AND role IS DISTINCT FROM 'prefill'
        AND NOT in_vain
)
SELECT mapped.span_row, 0 AS part, mapped.stage, mapped.operation, facts.* EXCLUDE (span_row)
FROM mapped
LEFT JOIN facts USING (span_row)
UNION ALL BY NAME
SELECT
    *,
    CASE WHEN part >= 8 THEN 'attribute' ELSE 'gap' END AS source,
    CASE WHEN stage LIKE 'unsplit(%' THEN 'unsplit' ELSE 'derived' END AS quality
FROM parts
WHERE start_ns IS NULL OR end_ns IS NULL OR start_ns < end_ns
