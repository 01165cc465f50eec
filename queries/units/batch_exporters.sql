-- Which exporters may have sent spans of the batch: the mapping of one that has not need not run.
--
-- A mapping without a column here always runs. What is said here of a mapping is no more than what
-- its own conditions need: it may run in vain, but is never left out wrongly.
--
-- Reads batch_spans.
-- Parameters:
--   $keys: attributes that mappings read and that some span of the store has.
-- Columns: one for each mapping in queries/stages, whether it has to run.
WITH
names AS (
    SELECT
        name,
        bool_or(
            parent_span_id IS NOT NULL AND (
                status_code = 2
                OR attributes['http.response.status_code']::VARCHAR >= '4'
                OR attributes['http.status_code']::VARCHAR >= '4'
                OR attributes['rpc.grpc.status_code']::VARCHAR != '0'
                OR attributes['rpc.response.status_code'] IS NOT NULL
                OR attributes['http.request.resend_count'] IS NOT NULL
                OR attributes['http.resend_count'] IS NOT NULL
            )
        ) AS has_failed_below,
        bool_or(starts_with(scope_name, 'llm-d')) AS has_llm_d_scope,
        bool_or(starts_with(scope_name, 'vllm')) AS has_vllm_scope,
        bool_or(kind = 5 AND parent_span_id IS NOT NULL) AS has_consumer_below
    FROM batch_spans
    GROUP BY name
)
SELECT
    list_contains($keys, 'tracekit.stage') AS tracekit,
    coalesce(bool_or(has_failed_below), FALSE) AS retry,
    coalesce(bool_or(has_consumer_below), FALSE) AS messaging,
    list_contains($keys, 'dynamo.request.id') OR coalesce(
        bool_or(
            name IN ('http-request', 'handle_payload', 'engine.generate')
            OR starts_with(name, 'kv_router.')
        ),
        FALSE
    ) AS dynamo,
    list_has_any($keys, ['module', 'thread_label']) OR coalesce(
        bool_or(regexp_matches(name, '^\s*(prefill |decode )?Req [0-9a-f]{1,8}$')), FALSE
    ) AS sglang,
    list_contains($keys, 'triton.model_name')
    OR coalesce(bool_or(name = 'InferRequest'), FALSE) AS triton,
    coalesce(bool_or(name = 'Received Proxy Server Request'), FALSE) AS litellm,
    list_contains($keys, 'inference_time') AS tgi,
    list_contains($keys, 'response_flags') AS envoy,
    coalesce(bool_or(name = 'disaggregated_request'), FALSE) AS tensorrt_llm,
    list_contains($keys, 'llm_d.pd_proxy.connector') OR coalesce(
        bool_or(has_llm_d_scope OR starts_with(name, 'gateway.') OR starts_with(name, 'llm_d.')),
        FALSE
    ) AS llm_d,
    coalesce(
        bool_or(
            starts_with(name, 'proxy_')
            OR starts_with(name, 'route_to_replica')
            OR starts_with(name, 'replica_handle_request')
        ),
        FALSE
    ) AS ray_serve,
    list_has_any(
        $keys,
        [
            'gen_ai.latency.time_in_model_prefill', 'gen_ai.latency.time_in_model_decode',
            'gen_ai.latency.time_in_model_inference'
        ]
    ) OR coalesce(bool_or(name = 'llm_request' OR has_vllm_scope), FALSE) AS vllm,
    -- What makes a trace call a model: an engine's request, a call, a server of HTTP.
    list_has_any(
        $keys,
        [
            'gen_ai.operation.name', 'gen_ai.request.model', 'gen_ai.system', 'gen_ai.provider.name', 'ai.operationId',
            'llm.request.type', 'openinference.span.kind', 'http.request.method', 'http.method',
            'http.response.status_code', 'http.status_code'
        ]
    ) OR coalesce(bool_or(name = 'llm_request'), FALSE) AS gateway
FROM names
