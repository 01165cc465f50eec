-- Operations of TensorRT-LLM's disaggregated server: `disaggregated_request` (tensorrt_llm/serve/openai_disagg_server.py,
-- decorated by llmapi/otel_tracing.py), which chooses a server for the context (prefill) and one for the generation
-- (decode) and says so by events.
--
-- Until it has chosen the first one, its time is the choice; then it waits for the two, whose spans (`llm_request`, mapped in
-- vllm.sql) tell what for; without them nobody knows. For a stream it ends as soon as the stream has begun.
--
-- Reads batch_spans, batch_outcomes, base.span_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; 1, the choice inside it.
--   stage: stage code.
--   operation: name of the span, of the choice with its own name after a slash.
--   start_ns, end_ns: interval of the choice, nanoseconds since the epoch; NULL is the edge of the span.
--   source, quality: what a part rests on.
--   vantage: gateway.
--   outcome: what its status says; NULL where it says nothing.
WITH
routed AS MATERIALIZED (
    SELECT *
    FROM batch_spans
    WHERE name = 'disaggregated_request'
),
chosen AS (
    SELECT routed.span_row, min(span_events.time_ns) AS chosen_ns
    FROM routed
    INNER JOIN base.span_events USING (trace_id, span_id)
    WHERE span_events.name IN ('ctx_server.selected', 'gen_server.selected')
    GROUP BY routed.span_row
)
SELECT
    routed.span_row,
    0 AS part,
    'unattributed' AS stage,
    routed.name AS operation,
    'gateway' AS vantage,
    batch_outcomes.outcome
FROM routed
LEFT JOIN batch_outcomes USING (span_row)
UNION ALL BY NAME
SELECT
    routed.span_row,
    1 AS part,
    'gw.route' AS stage,
    routed.name || '/choice' AS operation,
    NULL::BIGINT AS start_ns,
    chosen.chosen_ns AS end_ns,
    'event' AS source,
    'derived' AS quality
FROM routed
INNER JOIN chosen USING (span_row)
WHERE chosen.chosen_ns > routed.start_ns AND chosen.chosen_ns <= routed.end_ns
