-- Operations of LiteLLM's first kind of spans: below `Received Proxy Server Request` come its
-- checks; the call of the model is `raw_gen_ai_request`, and `litellm_request`, `router` and `self`
-- enclose or repeat it.
--
-- What those three spend while the call runs is the call's: with no span of the provider below,
-- it is `upstream`. The rest of `router` is the choice of a deployment; of the other two nothing is
-- known. Spans of the second kind (`POST /v1/chat/completions`, `chat <model>`) are mapped in
-- gateway.sql.
--
-- A request to a model that failed while another one of the same request lasts, or before it, was a
-- fallback's first attempt: `retry`.
--
-- Reads batch_spans, batch_outcomes.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; 1, the call inside it.
--   stage: stage code.
--   operation: name of the span, of a part that of the call.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL for the span itself.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
--   vantage: gateway.
--   input_tokens, output_tokens: counts.
--   model: name of the model.
--   outcome: how the call ended, as its status says.
WITH
proxies AS MATERIALIZED (
    SELECT DISTINCT trace_no
    FROM batch_spans
    WHERE name = 'Received Proxy Server Request'
),
known AS MATERIALIZED (
    SELECT batch_spans.*
    FROM batch_spans
    SEMI JOIN proxies USING (trace_no)
    WHERE name IN (
        'Received Proxy Server Request',
        'auth',
        'guardrail',
        'proxy_pre_call',
        'raw_gen_ai_request',
        'litellm_request',
        'router',
        'self'
    )
),
calls AS (
    SELECT * FROM known WHERE name = 'raw_gen_ai_request'
),
-- Requests to a model that failed, each with a call that lasts longer.
in_vain AS (
    SELECT DISTINCT failed.span_row, failed.trace_no, failed.name, failed.start_ns, failed.end_ns
    FROM known AS failed
    INNER JOIN calls ON calls.trace_no = failed.trace_no AND calls.end_ns > failed.end_ns
    WHERE failed.name = 'litellm_request' AND failed.status_code = 2
),
below AS (
    SELECT DISTINCT calls.span_row
    FROM calls
    INNER JOIN batch_spans AS child
        ON child.trace_no = calls.trace_no AND child.parent_span_id = calls.span_id
)
SELECT
    known.span_row,
    0 AS part,
    CASE
        WHEN in_vain.span_row IS NOT NULL THEN 'retry'
        WHEN known.name = 'raw_gen_ai_request' AND below.span_row IS NULL THEN 'upstream'
        WHEN known.name = 'Received Proxy Server Request' THEN 'gw.ingress'
        WHEN known.name = 'auth' THEN 'gw.auth'
        WHEN known.name = 'guardrail' THEN 'gw.guardrail'
        WHEN known.name = 'proxy_pre_call' THEN 'gw.ratelimit'
        WHEN known.name = 'router' THEN 'gw.route'
        ELSE 'unattributed'
    END AS stage,
    known.name AS operation,
    CASE WHEN known.name = 'litellm_request' THEN batch_outcomes.outcome END AS outcome,
    CASE
        WHEN known.name = 'litellm_request' AND in_vain.span_row IS NULL THEN 'gateway'
    END AS vantage,
    said_count(
        coalesce(known.attributes['gen_ai.usage.input_tokens'], known.attributes['gen_ai.usage.prompt_tokens'])
    ) AS input_tokens,
    said_count(
        coalesce(known.attributes['gen_ai.usage.output_tokens'], known.attributes['gen_ai.usage.completion_tokens'])
    ) AS output_tokens,
    coalesce(
        known.attributes['gen_ai.response.model']::VARCHAR,
        known.attributes['gen_ai.request.model']::VARCHAR
    ) AS model
FROM known
LEFT JOIN below USING (span_row)
LEFT JOIN batch_outcomes USING (span_row)
LEFT JOIN in_vain USING (span_row)
UNION ALL BY NAME
SELECT
    known.span_row,
    1 AS part,
    'upstream' AS stage,
    calls.name AS operation,
    calls.start_ns,
    calls.end_ns,
    calls.span_row AS placed_by,
    'span' AS source,
    'derived' AS quality
FROM known
INNER JOIN calls USING (trace_no)
ANTI JOIN below ON below.span_row = calls.span_row
WHERE known.name IN ('litellm_request', 'router', 'self') AND calls.start_ns < calls.end_ns
UNION ALL BY NAME
SELECT
    calls.span_row,
    2 AS part,
    'retry' AS stage,
    in_vain.name AS operation,
    in_vain.start_ns,
    in_vain.end_ns,
    in_vain.span_row AS placed_by,
    'span' AS source,
    'derived' AS quality
FROM calls
INNER JOIN in_vain USING (trace_no)
WHERE in_vain.start_ns >= calls.start_ns
