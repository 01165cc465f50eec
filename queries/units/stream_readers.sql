-- What reads the answer of a model's call while it comes: the parser of a stream, which began beside the call while it ran
-- and ended with it or later. Until the call has ended it waits for it.
--
-- What does work of its own (tools, guardrails, spans with something below them), or calls a model itself, is no mere
-- reader.
--
-- Made into the temporary table `batch_readers`. Reads batch_spans.
-- Columns:
--   span_row: the span that reads.
--   call_row, call_name, call_end_ns: the call; of several the one that ends last.
WITH
calls AS (
    SELECT *
    FROM batch_spans
    WHERE kind != 2 AND parent_span_id IS NOT NULL AND (
        attributes['openinference.span.kind']::VARCHAR = 'LLM'
        OR attributes['gen_ai.operation.name']::VARCHAR IN ('chat', 'text_completion', 'generate_content')
    )
)
SELECT
    reader.span_row,
    arg_max(calls.span_row, (calls.end_ns, calls.span_id)) AS call_row,
    arg_max(calls.name, (calls.end_ns, calls.span_id)) AS call_name,
    max(calls.end_ns) AS call_end_ns
FROM calls
INNER JOIN batch_spans AS reader
    ON reader.trace_no = calls.trace_no
    AND reader.parent_span_id = calls.parent_span_id
    AND reader.resource_id = calls.resource_id
    AND reader.start_ns > calls.start_ns AND reader.start_ns < calls.end_ns
    AND reader.end_ns >= calls.end_ns
ANTI JOIN calls AS others ON others.span_row = reader.span_row
ANTI JOIN batch_spans AS below ON below.trace_no = reader.trace_no AND below.parent_span_id = reader.span_id
WHERE reader.kind IN (0, 1)
    AND reader.attributes['tracekit.stage'] IS NULL
    AND coalesce(reader.attributes['openinference.span.kind']::VARCHAR, 'CHAIN') IN ('CHAIN', 'PROMPT', 'UNKNOWN')
    AND coalesce(reader.attributes['gen_ai.operation.name']::VARCHAR != 'execute_tool', TRUE)
    AND NOT regexp_matches(reader.name, '^(auth|guardrail|execute_guardrail|cache[.]get|route|proxy_pre_call)')
GROUP BY reader.span_row
