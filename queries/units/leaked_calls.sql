-- Calls of a model that began when the span they name as their parent had ended, inside another span of their process.
--
-- A context that was kept after its span had ended (a dependency of a web framework, a finished hook) names the wrong
-- parent; the innermost span of the same process that holds all calls which name that parent is the one that made them:
-- attempts stay together. Where only spans above the named parent hold them, nothing is told.
--
-- So it is with the spans that Anthropic's client (2 and later) sends beside those of OpenLLMetry's instrumentation, which
-- wraps the client without being its parent: the wrapper of the same process and parent that began last before the call
-- holds it, if the call ends inside.
--
-- Made into the temporary table `batch_leaked`. Reads batch_spans.
-- Columns:
--   span_row: the call.
--   parent_span_id: the span that holds it.
WITH RECURSIVE
calls AS (
    SELECT
        call.span_row,
        call.trace_no,
        call.resource_id,
        min(call.start_ns) OVER attempts AS start_ns,
        max(call.end_ns) OVER attempts AS end_ns,
        parent.parent_span_id AS above_id
    FROM batch_spans AS call
    INNER JOIN batch_spans AS parent
        ON parent.trace_no = call.trace_no
        AND parent.span_id = call.parent_span_id
        AND parent.resource_id = call.resource_id
        AND parent.end_ns <= call.start_ns
    WHERE call.kind != 2 AND call.end_ns > call.start_ns AND (
        call.attributes['openinference.span.kind']::VARCHAR IN ('LLM', 'EMBEDDING')
        OR call.attributes['gen_ai.operation.name']::VARCHAR
        IN ('chat', 'text_completion', 'generate_content', 'embeddings')
        OR call.attributes['ai.operationId'] IS NOT NULL
    )
    WINDOW attempts AS (PARTITION BY call.trace_no, call.parent_span_id)
),
above AS (
    SELECT span_row, trace_no, above_id FROM calls WHERE above_id IS NOT NULL
    -- UNION, not UNION ALL: a cycle of parents ends where it began.
    UNION
    SELECT above.span_row, above.trace_no, spans.parent_span_id AS above_id
    FROM above
    INNER JOIN batch_spans AS spans ON spans.trace_no = above.trace_no AND spans.span_id = above.above_id
    WHERE spans.parent_span_id IS NOT NULL
),
wrapped AS (
    SELECT call.span_row, wrapper.span_id AS parent_span_id
    FROM (SELECT * FROM batch_spans WHERE scope_name = 'com.anthropic.sdk.python' AND kind = 3) AS call
    ASOF JOIN (SELECT * FROM batch_spans WHERE scope_name = 'opentelemetry.instrumentation.anthropic') AS wrapper
        ON wrapper.trace_no = call.trace_no
        AND wrapper.resource_id = call.resource_id
        AND wrapper.parent_span_id = call.parent_span_id
        AND wrapper.start_ns <= call.start_ns
    WHERE call.end_ns <= wrapper.end_ns
)
SELECT
    calls.span_row,
    holder.span_id AS parent_span_id
FROM calls
INNER JOIN batch_spans AS holder
    ON holder.trace_no = calls.trace_no
    AND holder.resource_id = calls.resource_id
    AND holder.start_ns <= calls.start_ns
    AND holder.end_ns >= calls.end_ns
    AND holder.end_ns - holder.start_ns > calls.end_ns - calls.start_ns
    AND holder.parent_span_id IS NOT NULL
ANTI JOIN above ON above.span_row = calls.span_row AND above.above_id = holder.span_id
ANTI JOIN calls AS others ON others.span_row = holder.span_row
QUALIFY row_number() OVER (
    PARTITION BY calls.span_row
    ORDER BY holder.end_ns - holder.start_ns, holder.start_ns DESC, holder.span_id
) = 1
UNION ALL
SELECT span_row, parent_span_id
FROM wrapped
