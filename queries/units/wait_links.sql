-- Explicit dependencies between spans of one trace: span links with the attribute
-- `tracekit.waits_for`.
--
-- Made into the temporary table `wait_links`. Reads dirty_traces.
-- Columns:
--   trace_id: trace of both spans.
--   span_id: the span that waits.
--   awaited_span_id: the span that it waits for.
SELECT
    span_links.trace_id,
    span_links.span_id,
    span_links.linked_span_id AS awaited_span_id
FROM base.span_links
SEMI JOIN dirty_traces USING (trace_id)
WHERE span_links.linked_trace_id = span_links.trace_id
    AND span_links.attributes['tracekit.waits_for'] IS NOT NULL
    AND coalesce(TRY_CAST(span_links.attributes['tracekit.waits_for'] AS BOOLEAN), TRUE)
