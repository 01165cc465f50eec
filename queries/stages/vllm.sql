-- Operations of vLLM: the span `llm_request`, which tells its stages by attributes only, and
-- start-up spans.
--
-- The attributes are durations in seconds; each is rounded once, half away from zero, to
-- nanoseconds. Stages are laid out backwards from the first token: prefill ends there, the queue
-- ends where prefill begins. What is left before the queue is the span's own time, which vLLM
-- does not explain. After the first token comes decode, and after it, until the end of the span,
-- detokenisation and the export of the result.
--
-- A value that cannot be (negative, longer than what holds it by more than 1 ms + 1 %) is a
-- conflict: it is not used and the time stays unexplained. Two clocks are involved, so smaller
-- excesses are normal; there the clock of the frontend, which wrote the span, wins. A request
-- without output tokens had no first token.
--
-- Where the queue hides the load of KV blocks (the decode side of a split prefill and decode, by
-- `disagg_role`, or a reported KV transfer), the two cannot be told apart.
--
-- A router may make two requests of one, for prefill and for decode on another instance: in one
-- trace, with the same id and the same prompt, the first with a single token. They count as one: its
-- tokens are those of the second, and so is the first token. TensorRT-LLM sends the same span with
-- fewer of the attributes.
--
-- SGLang uses the same keys for other durations; its spans are left to other mappings.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with its own name after a slash.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL for the span
--     itself.
--   source, quality: what a part rests on.
--   vantage: engine; NULL for the prefill half of a split request.
--   first_token_ns, last_token_ns: nanoseconds since the epoch.
--   input_tokens, output_tokens: counts.
--   model: name of the model, where the span tells it.
--   outcome: ok where tokens came out.
--   request_id: id of the request; generations that run in parallel for one prompt share it.
--   conflicts: names of the values that were not used, comma-separated.
WITH
told AS MATERIALIZED (
    SELECT
        span_row,
        trace_no,
        resource_id,
        name,
        start_ns,
        greatest(start_ns, end_ns) AS end_ns,
        said_number(attributes['gen_ai.latency.time_to_first_token']) AS ttft_s,
        said_number(attributes['gen_ai.latency.e2e']) AS e2e_s,
        said_number(attributes['gen_ai.latency.time_in_queue']) AS queue_s,
        said_number(attributes['gen_ai.latency.time_in_model_prefill']) AS prefill_s,
        said_number(attributes['gen_ai.latency.time_in_model_decode']) AS decode_s,
        said_count(
            coalesce(attributes['gen_ai.usage.prompt_tokens'], attributes['gen_ai.usage.input_tokens'])
        ) AS input_tokens,
        said_count(
            coalesce(attributes['gen_ai.usage.completion_tokens'], attributes['gen_ai.usage.output_tokens'])
        ) AS output_tokens,
        coalesce(
            attributes['gen_ai.response.model']::VARCHAR,
            attributes['gen_ai.request.model']::VARCHAR
        ) AS model,
        attributes['gen_ai.request.id']::VARCHAR AS request_id,
        coalesce(attributes['disagg_role']::VARCHAR = 'decode', FALSE)
        OR coalesce(
            TRY_CAST(attributes['gen_ai.latency.kv_cache_transfer_time'] AS DOUBLE) > 0, FALSE
        ) AS queue_hides_kv_load
    FROM batch_spans
    WHERE (
        name = 'llm_request'
        OR attributes['gen_ai.latency.time_in_model_prefill'] IS NOT NULL
        OR attributes['gen_ai.latency.time_in_model_decode'] IS NOT NULL
        OR attributes['gen_ai.latency.time_in_model_inference'] IS NOT NULL
    )
    AND NOT regexp_matches(name, '^\s*(prefill |decode )?Req [0-9a-f]{1,8}')
),
-- The two requests that a router made of one: the first makes a single token elsewhere.
halves AS (
    SELECT prefill.span_row AS prefill_row, decode.span_row AS decode_row
    FROM told AS prefill
    INNER JOIN told AS decode
        ON decode.trace_no = prefill.trace_no
        AND decode.request_id = prefill.request_id
        AND decode.resource_id != prefill.resource_id
        AND decode.input_tokens = prefill.input_tokens
        AND decode.start_ns > prefill.start_ns
    WHERE prefill.output_tokens = 1
),
reported AS (
    SELECT
        * REPLACE (
            queue_hides_kv_load OR span_row IN (SELECT decode_row FROM halves) AS queue_hides_kv_load
        ),
        span_row IN (SELECT prefill_row FROM halves) AS is_prefill_half
    FROM told
),
measured AS (
    SELECT
        *,
        end_ns - start_ns AS span_ns,
        -- Beyond 30 years a value is no duration, and its nanoseconds would not fit.
        CASE
            WHEN abs(ttft_s) < 1e9 THEN round(ttft_s * 1e9)::BIGINT ELSE -1
        END AS ttft_said_ns,
        CASE
            WHEN abs(e2e_s) < 1e9 THEN round(e2e_s * 1e9)::BIGINT ELSE -1
        END AS e2e_said_ns,
        CASE
            WHEN abs(queue_s) < 1e9 THEN round(queue_s * 1e9)::BIGINT ELSE -1
        END AS queue_said_ns,
        CASE
            WHEN abs(prefill_s) < 1e9 THEN round(prefill_s * 1e9)::BIGINT ELSE -1
        END AS prefill_said_ns,
        CASE
            WHEN abs(decode_s) < 1e9 THEN round(decode_s * 1e9)::BIGINT ELSE -1
        END AS decode_said_ns
    FROM reported
),
with_e2e AS (
    SELECT
        *,
        CASE
            WHEN e2e_said_ns BETWEEN 0 AND span_ns + 1000000 + span_ns // 100
                THEN least(e2e_said_ns, span_ns)
        END AS e2e_ns,
        coalesce(e2e_ns, span_ns) AS whole_ns
    FROM measured
),
with_ttft AS (
    SELECT
        *,
        CASE
            WHEN output_tokens = 0 THEN NULL
            WHEN ttft_said_ns BETWEEN 0 AND whole_ns + 1000000 + whole_ns // 100
                THEN least(ttft_said_ns, whole_ns)
        END AS ttft_ns,
        coalesce(ttft_ns, whole_ns) AS before_ns,
        whole_ns - coalesce(ttft_ns, 0) AS after_ns
    FROM with_e2e
),
fitting AS (
    SELECT
        *,
        queue_said_ns BETWEEN 0 AND before_ns + 1000000 + before_ns // 100 AS queue_fits_alone,
        prefill_said_ns BETWEEN 0 AND before_ns + 1000000 + before_ns // 100 AS prefill_fits_alone,
        queue_said_ns + prefill_said_ns <= before_ns + 1000000 + before_ns // 100 AS both_fit,
        queue_fits_alone AND (both_fit OR NOT prefill_fits_alone) AS queue_fits,
        prefill_fits_alone AND (both_fit OR NOT queue_fits_alone) AS prefill_fits,
        decode_said_ns BETWEEN 0 AND after_ns + 1000000 + after_ns // 100 AS decode_fits
    FROM with_ttft
),
placed AS (
    SELECT
        *,
        start_ns + ttft_ns AS first_token_ns,
        CASE WHEN ttft_ns IS NOT NULL THEN start_ns + e2e_ns END AS last_token_ns,
        -- Without a prefill to end before, the queue is taken to begin on arrival.
        CASE
            WHEN prefill_fits THEN greatest(first_token_ns - prefill_said_ns, start_ns)
        END AS prefill_start_ns,
        CASE
            WHEN NOT queue_fits THEN NULL
            WHEN prefill_fits THEN greatest(prefill_start_ns - queue_said_ns, start_ns)
            WHEN ttft_ns IS NOT NULL THEN start_ns
        END AS queue_start_ns,
        coalesce(prefill_start_ns, least(start_ns + queue_said_ns, first_token_ns)) AS queue_end_ns,
        CASE
            WHEN decode_fits AND ttft_ns IS NOT NULL
                THEN least(first_token_ns + decode_said_ns, coalesce(last_token_ns, end_ns))
        END AS decode_end_ns,
        CASE
            WHEN e2e_ns IS NOT NULL THEN coalesce(decode_end_ns, start_ns + e2e_ns)
        END AS output_start_ns
    FROM fitting
),
parts AS (
    SELECT
        span_row,
        1 AS part,
        CASE
            WHEN queue_hides_kv_load THEN 'unsplit(eng.queue|kv.load)' ELSE 'eng.queue'
        END AS stage,
        name || '/queue' AS operation,
        queue_start_ns AS start_ns,
        queue_end_ns AS end_ns,
        CASE WHEN queue_hides_kv_load THEN 'unsplit' ELSE 'derived' END AS quality
    FROM placed
    UNION ALL
    SELECT
        span_row, 2, 'eng.prefill', name || '/prefill', prefill_start_ns, first_token_ns, 'derived'
    FROM placed
    UNION ALL
    SELECT span_row, 3, 'eng.decode', name || '/decode', first_token_ns, decode_end_ns, 'derived'
    FROM placed
    UNION ALL
    SELECT span_row, 4, 'out.detok', name || '/detokenise', output_start_ns, end_ns, 'derived'
    FROM placed
),
requests AS (
    SELECT
        span_row,
        name,
        first_token_ns,
        last_token_ns,
        input_tokens,
        output_tokens,
        model,
        CASE WHEN output_tokens > 0 THEN 'ok' END AS outcome,
        request_id,
        is_prefill_half,
        nullif(
            concat_ws(
                ',',
                CASE
                    WHEN ttft_s IS NOT NULL AND ttft_ns IS NULL
                        AND output_tokens IS DISTINCT FROM 0 THEN 'ttft'
                END,
                CASE WHEN e2e_s IS NOT NULL AND e2e_ns IS NULL THEN 'e2e' END,
                CASE WHEN queue_s IS NOT NULL AND NOT queue_fits THEN 'queue' END,
                CASE WHEN prefill_s IS NOT NULL AND NOT prefill_fits THEN 'prefill' END,
                CASE WHEN decode_s IS NOT NULL AND NOT decode_fits THEN 'decode' END
            ),
            ''
        ) AS conflicts
    FROM placed
),
start_up AS (
    SELECT span_row, name
    FROM batch_spans
    WHERE scope_name LIKE 'vllm%' AND name IN (
        'Overall Loading', 'SyncMPClient init', 'AsyncMPClient init', 'EngineCoreProc init',
        'Executor init', 'Worker init', 'Init device', 'Load model', 'Load weights',
        'Download weights - HF', 'Initialize model', 'Prepare model', 'Loading (GPU)',
        'Loading (CPU)', 'Allocate KV cache', 'Capture model', 'Warmup (GPU)', 'Warmup (CPU)',
        'DeepGemm warmup'
    )
)
SELECT
    span_row,
    0 AS part,
    'unattributed' AS stage,
    name AS operation,
    CASE WHEN NOT is_prefill_half OR conflicts IS NOT NULL THEN 'engine' END AS vantage,
    CASE WHEN NOT is_prefill_half THEN first_token_ns END AS first_token_ns,
    CASE WHEN NOT is_prefill_half THEN last_token_ns END AS last_token_ns,
    input_tokens,
    CASE WHEN NOT is_prefill_half THEN output_tokens END AS output_tokens,
    model,
    outcome,
    request_id,
    conflicts
FROM requests
UNION ALL BY NAME
SELECT *, 'attribute' AS source FROM parts WHERE start_ns < end_ns
UNION ALL BY NAME
SELECT span_row, 0 AS part, 'lifecycle.startup' AS stage, name AS operation FROM start_up
