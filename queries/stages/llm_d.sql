-- Operations of llm-d: its router (the endpoint picker of the Gateway API Inference Extension) and the
-- sidecars that send a request to a prefill and then to a decode instance.
--
-- Names as in llm-d-inference-scheduler pkg/epp/requestcontrol/director.go and
-- pkg/sidecar/proxy/connector_nixlv2.go; they move from dotted to bare ones (`llm_d.pd_proxy.prefill`,
-- `prefill`), which count only from an llm-d scope or with an attribute of the sidecar. Spans of the
-- engines below have mappings of their own.
--
-- A sidecar's `prefill` without an engine below holds queue and prefill, its `decode` waits, KV
-- transfer and decode: nobody can tell them apart. With an engine below, their own time is the way
-- there and back. `llm_d.pd_proxy.true_ttft_ms` ends where decode begins, before the first token: it
-- is not used as one. Where both run at once (`concurrent_pd`) neither is added to the other: the
-- time is split as that of any spans that overlap.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself.
--   stage: stage code.
--   operation: name of the span.
--   vantage: gateway, for the request at the router.
--   model: name of the model.
WITH
known AS (
    SELECT
        *,
        CASE
            WHEN name IN ('gateway.request', 'gateway.ext_proc.request') THEN 'request'
            WHEN name IN ('gateway.request_orchestration', 'gateway.scheduling')
                OR starts_with(name, 'llm_d.epp.') OR starts_with(name, 'llm_d.kv_cache') THEN 'choice'
            WHEN name = 'llm_d.pd_proxy.prefill' THEN 'prefill'
            WHEN name = 'llm_d.pd_proxy.decode' THEN 'decode'
            WHEN starts_with(name, 'llm_d.pd_proxy') THEN 'forward'
            WHEN NOT (
                coalesce(starts_with(scope_name, 'llm-d'), FALSE)
                OR attributes['llm_d.pd_proxy.connector'] IS NOT NULL
            ) THEN NULL
            WHEN name IN ('prefill', 'decode') THEN name
            WHEN name = 'forward_request' THEN 'forward'
            WHEN name IN (
                'run_scheduler_profile',
                'filter_endpoints',
                'pick_endpoints',
                'pick_disagg_profile',
                'pick_pd_profile',
                'prepare_disaggregation',
                'produce_precise_prefix_cache',
                'score_prefix_cache',
                'score_tokens',
                'compute_scores',
                'index_lookup',
                'index_add',
                'index_evict'
            ) THEN 'choice'
        END AS part_of
    FROM batch_spans
),
answered AS (
    SELECT DISTINCT known.span_row
    FROM known
    INNER JOIN batch_spans AS child
        ON child.trace_no = known.trace_no AND child.parent_span_id = known.span_id
    WHERE known.part_of IN ('prefill', 'decode')
        AND child.kind IN (2, 3)
)
SELECT
    known.span_row,
    0 AS part,
    CASE
        WHEN known.part_of = 'request' THEN 'gw.ingress'
        WHEN known.part_of = 'choice' THEN 'gw.route'
        WHEN known.part_of = 'forward' OR answered.span_row IS NOT NULL THEN 'net.dispatch'
        WHEN known.part_of = 'prefill' THEN 'unsplit(eng.prefill|eng.queue)'
        ELSE 'unsplit(eng.decode|eng.decode_wait|kv.transfer)'
    END AS stage,
    known.name AS operation,
    CASE WHEN known.part_of = 'request' THEN 'gateway' END AS vantage,
    CASE
        WHEN known.part_of = 'request' THEN known.attributes['gen_ai.request.model']::VARCHAR
    END AS model
FROM known
LEFT JOIN answered USING (span_row)
WHERE known.part_of IS NOT NULL
