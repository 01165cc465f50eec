-- Operations of what stands before an engine: HTTP server spans and GenAI client spans of traces
-- that call a language model, and the steps between them that gateways name (LiteLLM's names
-- among them).
--
-- A trace calls a language model where a span is an engine's request, carries GenAI or
-- OpenInference attributes, or serves a path of the OpenAI-like interfaces. All other traces are
-- left to other mappings, and so are HTTP server spans that serve no such path: an application that
-- calls a model is no gateway. An HTTP client span whose address has such a path is a call too, where nothing else in
-- its process tells of one in the trace; how the request ended is told by those who answer it then.
--
-- A server of such a path that somebody calls and that shows no step, call or engine is the model's
-- server: its own time is a stage of its own, `service:name`, as for any service.
--
-- The own time of a GenAI client span, or of a client span below it, that waits for one remote
-- span: before that span it is the way to the engine, after it the stream back. Without any span
-- below, the whole call is the provider's. With several remote spans what lies between them is
-- unexplained.
--
-- What reads a call's answer while it comes takes time of its own only from the end of the call on.
--
-- Reads batch_spans, batch_calls, batch_outcomes, batch_readers, first_token_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code, or `service:name` of a model's server.
--   operation: name of the span; `edge:caller->callee` for the way to the engine.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the
--     span.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
--   vantage: gateway, or client where the call is the root of its trace or nothing in its trace serves anybody in the
--     process that calls: a program with steps of its own.
--   first_token_ns, last_token_ns: nanoseconds since the epoch. A stream that did not fail ends
--     with its span; of several that run in parallel (choices) no last token is known.
--   input_tokens, output_tokens: counts.
--   model: name of the model.
--   conflicts: first_token, where the value cannot be: Envoy's AI gateway writes the event of the first token when
--     the stream ends (all versions that trace, 0.3 to today's RecordResponseChunks in EndSpan).
--   outcome: what the call itself says, by its status and by why it finished; unknown for a stream, or an answer with
--     an id from a library that tells every end, that tells of none and counts no tokens: it was cut, or left; NULL
--     where it says nothing.
--     OpenInference shows by the first token that a call streams, and ends only whole streams well.
WITH
flagged AS (
    SELECT
        span_row,
        trace_no,
        span_id,
        parent_span_id,
        name,
        kind,
        service_name,
        resource_id,
        kind = 3 AND coalesce(
            attributes['gen_ai.operation.name'],
            attributes['gen_ai.request.model'],
            attributes['gen_ai.system'],
            attributes['gen_ai.provider.name'],
            attributes['llm.request.type']
        ) IS NOT NULL
        AND coalesce(
            attributes['gen_ai.operation.name']::VARCHAR
            NOT IN ('execute_tool', 'invoke_agent', 'create_agent', 'invoke_workflow', 'retrieval'),
            TRUE
        )
        OR coalesce(attributes['openinference.span.kind']::VARCHAR IN ('LLM', 'EMBEDDING'), FALSE)
        OR coalesce(
            kind IN (0, 1)
            AND attributes['gen_ai.operation.name']::VARCHAR
            IN ('chat', 'text_completion', 'generate_content', 'embeddings'),
            FALSE
        )
        OR coalesce(
            regexp_matches(attributes['ai.operationId']::VARCHAR, '^ai\.[a-zA-Z]+\.do[A-Z]')
            -- The span of a stream that is left never ends: the span of the whole stands for it.
            OR attributes['ai.operationId']::VARCHAR IN ('ai.streamText', 'ai.streamObject')
            AND attributes['ai.response.finishReason'] IS NULL AND status_code != 2,
            FALSE
        ) AS is_call,
        kind = 2 AND coalesce(
            attributes['http.request.method'],
            attributes['http.method'],
            attributes['http.response.status_code'],
            attributes['http.status_code']
        ) IS NOT NULL AS is_http_server,
        kind = 3 AND coalesce(
            regexp_matches(
                coalesce(attributes['url.full']::VARCHAR, attributes['http.url']::VARCHAR),
                '/v[0-9][^/]*/(chat/completions|completions|responses|messages|embeddings)([?]|$)'
                '|/models/[^/]+(?:/versions/[^/]+)?[:/](predict|infer|generate|generate_stream|generateContent|streamGenerateContent)([?]|$)'
            ),
            FALSE
        ) AS asks_model,
        CASE
            WHEN is_http_server THEN coalesce(
                regexp_matches(
                    coalesce(
                        attributes['url.path']::VARCHAR,
                        attributes['http.target']::VARCHAR,
                        attributes['http.route']::VARCHAR,
                        attributes['url.full']::VARCHAR,
                        attributes['http.url']::VARCHAR,
                        name
                    ),
                    '/(chat/completions|completions|responses|messages|embeddings|generate)([?]|$)'
                    '|/models/[^/]+(?:/versions/[^/]+)?[:/](predict|infer|generate_stream)([?]|$)'
                ),
                FALSE
            )
            ELSE FALSE
        END AS serves_model,
        CASE
            WHEN name = 'auth' OR starts_with(name, 'auth ') THEN 'gw.auth'
            WHEN starts_with(name, 'guardrail') OR starts_with(name, 'execute_guardrail')
                THEN 'gw.guardrail'
            WHEN starts_with(name, 'cache.get') THEN 'gw.cache'
            WHEN name = 'router' OR starts_with(name, 'route ') THEN 'gw.route'
            WHEN name = 'proxy_pre_call' THEN 'gw.ratelimit'
            WHEN starts_with(name, 'redis.') AND ends_with(name, ' rate_limits')
                THEN 'gw.ratelimit'
        END AS step_stage
    FROM batch_spans
),
said AS (
    SELECT DISTINCT trace_no, resource_id, TRUE AS tells_calls
    FROM flagged
    WHERE is_call
),
marked AS MATERIALIZED (
    SELECT
        flagged.* REPLACE (is_call OR asks_model AND said.tells_calls IS NULL AS is_call),
        flagged.is_call AS tells_outcome
    FROM flagged
    LEFT JOIN said USING (trace_no, resource_id)
    WHERE kind = 3 OR is_call OR serves_model OR step_stage IS NOT NULL
        OR name IN ('llm_request', 'Received Proxy Server Request')
),
model_traces AS MATERIALIZED (
    SELECT DISTINCT trace_no
    FROM marked
    WHERE is_call OR serves_model OR name = 'llm_request'
),
in_model_traces AS MATERIALIZED (
    SELECT *
    FROM marked
    SEMI JOIN model_traces USING (trace_no)
),
-- Many clients wrap the HTTP call in a client span of its own.
transports AS (
    SELECT transport.*
    FROM in_model_traces AS transport
    SEMI JOIN (SELECT * FROM in_model_traces WHERE is_call) AS caller
        ON caller.trace_no = transport.trace_no AND caller.span_id = transport.parent_span_id
    WHERE transport.kind = 3 AND NOT transport.is_call
),
calls AS (
    SELECT * FROM in_model_traces WHERE is_call
    UNION ALL
    SELECT * FROM transports
),
reached AS MATERIALIZED (
    SELECT
        calls.*,
        coalesce(batch_calls.remote_count, 0) AS remote_count,
        coalesce(batch_calls.local_count, 0) AS local_count,
        batch_calls.callee_row,
        batch_calls.callee_service,
        batch_calls.callee_start_ns,
        batch_calls.callee_end_ns
    FROM calls
    LEFT JOIN batch_calls USING (span_row)
),
servers AS (
    SELECT *
    FROM in_model_traces
    WHERE name != 'llm_request' AND NOT is_call
        AND (serves_model OR name = 'Received Proxy Server Request')
),
-- Servers that call nobody: what they spend is their own.
model_servers AS (
    SELECT servers.*
    FROM servers
    ANTI JOIN in_model_traces AS other
        ON other.trace_no = servers.trace_no
        AND other.span_row != servers.span_row
        AND (other.resource_id = servers.resource_id OR other.parent_span_id = servers.span_id)
    WHERE servers.parent_span_id IS NOT NULL
),
gateway_steps AS (
    SELECT span_row, name, step_stage AS stage
    FROM in_model_traces
    WHERE step_stage IS NOT NULL AND NOT is_call AND NOT is_http_server
        AND NOT EXISTS (FROM transports WHERE transports.span_row = in_model_traces.span_row)
),
-- The handler of an application of FastAPI is open while a call runs that hangs below its
-- dependencies: that time is the call's.
handled AS (
    SELECT
        handler.span_row,
        handler.service_name,
        handler.name,
        row_number() OVER (PARTITION BY handler.span_row ORDER BY call.start_ns, call.span_id) AS part,
        CASE
            WHEN call.status_code = 2 AND lead(call.span_row) OVER (
                PARTITION BY handler.span_row ORDER BY call.start_ns, call.span_id
            ) IS NOT NULL THEN 'retry'
            ELSE 'upstream'
        END AS stage,
        call.name AS operation,
        call.start_ns,
        call.end_ns,
        call.span_row AS placed_by
    FROM reached
    INNER JOIN batch_spans AS call USING (span_row)
    INNER JOIN batch_spans AS handler
        ON handler.trace_no = call.trace_no
        AND handler.resource_id = call.resource_id
        AND handler.name = 'fastapi.endpoint'
    INNER JOIN batch_spans AS dependencies
        ON dependencies.trace_no = call.trace_no
        AND dependencies.span_id = call.parent_span_id
        AND dependencies.parent_span_id = handler.parent_span_id
        AND dependencies.name = 'fastapi.dependencies'
    WHERE reached.remote_count + reached.local_count = 0
        AND call.start_ns < handler.end_ns
        AND call.end_ns > handler.start_ns
),
serving AS (
    SELECT in_model_traces.span_row
    FROM in_model_traces
    SEMI JOIN (SELECT trace_no, resource_id FROM batch_spans WHERE kind IN (2, 5)) AS served
        USING (trace_no, resource_id)
    WHERE in_model_traces.is_call
),
facing AS (
    SELECT span_row, is_call, tells_outcome FROM in_model_traces WHERE is_call
    UNION ALL
    SELECT span_row, is_call, tells_outcome FROM servers
),
told AS (
    SELECT
        facing.span_row,
        facing.is_call,
        batch_spans.trace_id,
        batch_spans.span_id,
        batch_spans.parent_span_id,
        batch_spans.status_code,
        batch_spans.start_ns,
        batch_spans.end_ns,
        batch_spans.scope_name = 'envoyproxy/ai-gateway' AS writes_events_at_end,
        coalesce(
            said_number(batch_spans.attributes['gen_ai.response.time_to_first_chunk']),
            said_number(batch_spans.attributes['ai.response.msToFirstChunk']) / 1e3
        ) AS first_chunk_s,
        coalesce(
            TRY_CAST(batch_spans.attributes['gen_ai.request.choice.count'] AS BIGINT), 1
        ) AS choice_count,
        coalesce(
            TRY_CAST(batch_spans.attributes['gen_ai.request.stream'] AS BOOLEAN),
            TRY_CAST(batch_spans.attributes['gen_ai.is_streaming'] AS BOOLEAN),
            TRY_CAST(batch_spans.attributes['llm.is_streaming'] AS BOOLEAN),
            starts_with(batch_spans.attributes['ai.operationId']::VARCHAR, 'ai.stream'),
            FALSE
        ) AS is_streaming,
        coalesce(
            batch_spans.attributes['openinference.span.kind']::VARCHAR = 'LLM' AND batch_spans.status_code = 0, FALSE
        ) AS is_left_open,
        -- These libraries tell how every whole answer finished; others may tell no more of one than its id.
        coalesce(
            regexp_matches(batch_spans.scope_name, '^opentelemetry[.](instrumentation|util[.]genai)\b')
            AND batch_spans.attributes['gen_ai.response.id'] IS NOT NULL
            AND batch_spans.attributes['gen_ai.operation.name']::VARCHAR
            IN ('chat', 'text_completion', 'generate_content'),
            FALSE
        ) AS has_begun_answer,
        said_count(
            coalesce(
                batch_spans.attributes['gen_ai.usage.input_tokens'],
                batch_spans.attributes['gen_ai.usage.prompt_tokens'],
                batch_spans.attributes['llm.token_count.prompt']
            )
        ) AS input_tokens,
        said_count(
            coalesce(
                batch_spans.attributes['gen_ai.usage.output_tokens'],
                batch_spans.attributes['gen_ai.usage.completion_tokens'],
                batch_spans.attributes['llm.token_count.completion']
            )
        ) AS output_tokens,
        coalesce(
            batch_spans.attributes['gen_ai.response.model']::VARCHAR,
            batch_spans.attributes['gen_ai.request.model']::VARCHAR,
            batch_spans.attributes['llm.model_name']::VARCHAR,
            batch_spans.attributes['ai.model.id']::VARCHAR
        ) AS model,
        coalesce(
            batch_spans.attributes['gen_ai.response.finish_reasons']::VARCHAR,
            batch_spans.attributes['llm.finish_reason']::VARCHAR
        ) AS finish_reasons,
        CASE WHEN facing.tells_outcome THEN batch_outcomes.outcome END AS said_outcome
    FROM facing
    INNER JOIN batch_spans USING (span_row)
    LEFT JOIN batch_outcomes USING (span_row)
),
timed AS (
    SELECT
        told.*,
        first_token_events.first_token_ns AS seen_ns,
        coalesce(
            CASE WHEN NOT coalesce(told.writes_events_at_end, FALSE) THEN first_token_events.first_token_ns END,
            CASE
                WHEN told.first_chunk_s BETWEEN 0 AND 1e9
                    THEN told.start_ns + round(told.first_chunk_s * 1e9)::BIGINT
            END
        ) AS first_token_ns
    FROM told
    LEFT JOIN first_token_events USING (trace_id, span_id)
),
facts AS (
    SELECT
        span_row,
        CASE
            WHEN is_call AND (parent_span_id IS NULL OR serving.span_row IS NULL) THEN 'client' ELSE 'gateway'
        END AS vantage,
        first_token_ns,
        CASE
            WHEN is_call AND status_code != 2 AND choice_count = 1 AND first_token_ns IS NOT NULL
                THEN end_ns
        END AS last_token_ns,
        input_tokens,
        output_tokens,
        model,
        CASE
            WHEN regexp_matches(finish_reasons, 'abort|cancel') THEN 'aborted'
            WHEN said_outcome != 'ok' THEN said_outcome
            WHEN regexp_matches(finish_reasons, 'error') THEN 'failed'
            WHEN finish_reasons IS NOT NULL OR output_tokens > 0 THEN 'ok'
            WHEN is_call AND (is_streaming OR has_begun_answer OR is_left_open AND first_token_ns IS NOT NULL)
                THEN 'unknown'
            ELSE said_outcome
        END AS outcome,
        CASE
            WHEN first_token_ns IS NULL AND coalesce(seen_ns::DOUBLE, first_chunk_s) IS NOT NULL THEN 'first_token'
        END AS conflicts
    FROM timed
    LEFT JOIN serving USING (span_row)
)
SELECT
    reached.span_row,
    0 AS part,
    CASE
        WHEN reached.remote_count + reached.local_count = 0 THEN 'upstream'
        ELSE 'unattributed'
    END AS stage,
    reached.name AS operation,
    facts.* EXCLUDE (span_row)
FROM reached
LEFT JOIN facts USING (span_row)
UNION ALL BY NAME
SELECT
    span_row,
    1 AS part,
    'net.dispatch' AS stage,
    'edge:' || service_name || '->' || callee_service AS operation,
    NULL::BIGINT AS start_ns,
    callee_start_ns AS end_ns,
    callee_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM reached
WHERE remote_count = 1
UNION ALL BY NAME
SELECT
    span_row,
    2 AS part,
    'out.stream' AS stage,
    name || '/stream' AS operation,
    callee_end_ns AS start_ns,
    NULL::BIGINT AS end_ns,
    callee_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM reached
WHERE remote_count = 1
UNION ALL BY NAME
SELECT
    servers.span_row,
    0 AS part,
    CASE
        WHEN model_servers.span_row IS NULL THEN 'gw.ingress'
        ELSE servers.service_name || ':' || servers.name
    END AS stage,
    servers.name AS operation,
    facts.* EXCLUDE (span_row)
FROM servers
LEFT JOIN model_servers USING (span_row)
LEFT JOIN facts USING (span_row)
UNION ALL BY NAME
SELECT span_row, 0 AS part, stage, name AS operation
FROM gateway_steps
UNION ALL BY NAME
SELECT
    span_row,
    part,
    stage,
    operation,
    start_ns,
    end_ns,
    placed_by,
    'span' AS source,
    'derived' AS quality
FROM handled
UNION ALL BY NAME
SELECT DISTINCT
    span_row,
    0 AS part,
    service_name || ':' || name AS stage,
    name AS operation
FROM handled
UNION ALL BY NAME
SELECT
    span_row,
    1 AS part,
    'upstream' AS stage,
    call_name AS operation,
    NULL::BIGINT AS start_ns,
    call_end_ns AS end_ns,
    call_row AS placed_by,
    'span' AS source,
    'derived' AS quality
FROM batch_readers
UNION ALL BY NAME
SELECT
    batch_readers.span_row,
    0 AS part,
    batch_spans.service_name || ':' || batch_spans.name AS stage,
    batch_spans.name AS operation
FROM batch_readers
INNER JOIN batch_spans USING (span_row)
