-- When spans saw the first token, by their events. OpenLLMetry has an event for each chunk, of which the
-- first one counts.
--
-- Made into the temporary table `first_token_events`. Reads dirty_traces.
-- Columns:
--   trace_id, span_id: the span.
--   first_token_ns: nanoseconds since the epoch; the earliest where a span has several such
--     events.
SELECT
    span_events.trace_id,
    span_events.span_id,
    min(span_events.time_ns) AS first_token_ns
FROM base.span_events
SEMI JOIN dirty_traces USING (trace_id)
WHERE span_events.name IN (
    'first_token',
    'First Token Stream Event',
    'gen_ai.first_token',
    'first_chunk',
    'gen_ai.content.first_chunk',
    'ai.stream.firstChunk',
    'gen_ai.content.completion.chunk',
    'llm.content.completion.chunk'
)
GROUP BY span_events.trace_id, span_events.span_id
