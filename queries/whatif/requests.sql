-- What each request took of an engine, for a replay of the engines' batches under a change.
--
-- The time to the first token is laid out in the order that continuous batching has: what lies before the engine, the
-- wait for a seat in the batch, the prefill, the way back. So is the time after it. Requests of other layers and with
-- times that cannot be are left out already; those without a token count for what they took of the engine.
--
-- A request is of the engine whose spans in its trace began last: with several attempts, that of the last one.
--
-- Reads whatif_candidates (the columns of the view units, and is_asked and is_normal).
-- Parameters:
--   $stage: a stage whose time is told apart, NULL for none.
-- Columns:
--   unit_id: the request.
--   is_asked: whether the question is about it; the others are load.
--   is_normal: whether it says what is normal.
--   is_served: whether it ended well with tokens.
--   engine: the engine, as `service/host` with its data-parallel rank where spans tell one; NULL where no span shows it.
--   start_ns, end_ns, first_token_ns, last_token_ns: nanoseconds since the epoch.
--   input_tokens, output_tokens: tokens, NULL where unknown.
--   dispatch_ns: from the choice of an engine until it is queued there.
--   queue_ns, prefill_ns: waiting for the batch, and prefill with what is computed again.
--   first_out_ns: the first token's way from the engine to where the request is seen.
--   decode_ns, decode_out_ns: engine's part of the time after the first token, and the last token's way.
--   moved_ns: KV blocks moving from a prefill engine to a decode engine.
--   mixed_ns: queue and prefill that no span tells apart.
--   provider_ns: calls behind which no engine sends spans.
--   retried_ns: attempts before the last one.
--   preempted_ns: preempted, and computed again.
--   changed_ttft_ns, changed_decode_ns, changed_after_ns: time of $stage before the first token, between first and last,
--     and after it.
WITH
parts AS (
    SELECT
        unit_id,
        "window",
        stage,
        self_ns,
        starts_with(stage, 'unsplit(') AS is_unsplit,
        contains(stage, 'eng.queue') AS is_queue,
        contains(stage, 'eng.prefill') AS is_prefill,
        contains(stage, 'eng.decode') AS is_decode
    FROM base.unit_stages
    SEMI JOIN whatif_candidates USING (unit_id)
),
sums AS (
    SELECT
        unit_id,
        sum(self_ns) FILTER (
            WHERE "window" IN ('ttft', 'e2e') AND (
                stage IN ('net.dispatch', 'eng.grammar', 'eng.encode')
                OR regexp_matches(stage, '^(unsplit\()?fe\.')
            )
        ) AS dispatch_ns,
        sum(self_ns) FILTER (WHERE "window" IN ('ttft', 'e2e') AND is_queue AND NOT is_prefill) AS queue_ns,
        sum(self_ns) FILTER (
            WHERE "window" IN ('ttft', 'e2e') AND NOT is_queue
            AND (is_prefill OR stage IN ('eng.recompute', 'eng.preempt_wait', 'kv.load'))
        ) AS prefill_ns,
        sum(self_ns) FILTER (
            WHERE "window" = 'ttft' AND regexp_matches(stage, '^(unsplit\()?out\.')
        ) AS first_out_ns,
        sum(self_ns) FILTER (
            WHERE "window" IN ('decode', 'e2e') AND NOT is_queue AND (is_decode OR starts_with(stage, 'eng.'))
            AND NOT ("window" = 'e2e' AND (is_prefill OR stage IN ('eng.recompute', 'eng.preempt_wait')))
        ) AS decode_ns,
        sum(self_ns) FILTER (
            WHERE "window" = 'decode' AND regexp_matches(stage, '^(unsplit\()?out\.')
        ) AS decode_out_ns,
        sum(self_ns) FILTER (
            WHERE stage IN ('kv.bootstrap', 'kv.transfer', 'eng.decode_wait')
        ) AS moved_ns,
        sum(self_ns) FILTER (WHERE is_unsplit AND is_queue AND is_prefill) AS mixed_ns,
        sum(self_ns) FILTER (WHERE stage = 'upstream') AS provider_ns,
        sum(self_ns) FILTER (WHERE stage = 'retry') AS retried_ns,
        sum(self_ns) FILTER (WHERE stage IN ('eng.preempt_wait', 'eng.recompute')) AS preempted_ns,
        sum(self_ns) FILTER (WHERE stage = $stage AND "window" IN ('ttft', 'e2e')) AS changed_ttft_ns,
        sum(self_ns) FILTER (WHERE stage = $stage AND "window" = 'decode') AS changed_decode_ns,
        sum(self_ns) FILTER (WHERE stage = $stage AND "window" = 'after') AS changed_after_ns
    FROM parts
    GROUP BY unit_id
),
places AS (
    SELECT
        resource_id,
        concat_ws('/', service_name, coalesce(host_name, service_instance_id)) AS place
    FROM base.resources
),
members AS (
    SELECT units.unit_id, units.trace_id, units.start_ns, units.end_ns
    FROM base.units
    SEMI JOIN whatif_candidates USING (unit_id)
),
shown AS (
    SELECT
        members.unit_id,
        spans.resource_id,
        min(spans.start_ns) AS first_ns
    FROM base.spans
    INNER JOIN members
        ON spans.trace_id = members.trace_id
        AND spans.start_ns BETWEEN members.start_ns AND members.end_ns
    GROUP BY ALL
),
engines AS (
    SELECT unit_id, arg_max(resource_id, (first_ns, resource_id)) AS resource_id
    FROM shown
    GROUP BY unit_id
)
SELECT
    candidates.unit_id,
    candidates.is_asked,
    candidates.is_normal,
    candidates.outcome = 'ok' AND candidates.first_token_ns IS NOT NULL
    AND candidates.last_token_ns IS NOT NULL AS is_served,
    places.place AS engine,
    candidates.start_ns,
    candidates.end_ns,
    candidates.first_token_ns,
    candidates.last_token_ns,
    candidates.input_tokens,
    candidates.output_tokens,
    coalesce(sums.dispatch_ns, 0)::BIGINT AS dispatch_ns,
    coalesce(sums.queue_ns, 0)::BIGINT AS queue_ns,
    coalesce(sums.prefill_ns, 0)::BIGINT AS prefill_ns,
    coalesce(sums.first_out_ns, 0)::BIGINT AS first_out_ns,
    coalesce(sums.decode_ns, 0)::BIGINT AS decode_ns,
    coalesce(sums.decode_out_ns, 0)::BIGINT AS decode_out_ns,
    coalesce(sums.moved_ns, 0)::BIGINT AS moved_ns,
    coalesce(sums.mixed_ns, 0)::BIGINT AS mixed_ns,
    coalesce(sums.provider_ns, 0)::BIGINT AS provider_ns,
    coalesce(sums.retried_ns, 0)::BIGINT AS retried_ns,
    coalesce(sums.preempted_ns, 0)::BIGINT AS preempted_ns,
    coalesce(sums.changed_ttft_ns, 0)::BIGINT AS changed_ttft_ns,
    coalesce(sums.changed_decode_ns, 0)::BIGINT AS changed_decode_ns,
    coalesce(sums.changed_after_ns, 0)::BIGINT AS changed_after_ns
FROM whatif_candidates AS candidates
LEFT JOIN sums USING (unit_id)
LEFT JOIN engines USING (unit_id)
LEFT JOIN places USING (resource_id)
ORDER BY candidates.start_ns, candidates.unit_id
