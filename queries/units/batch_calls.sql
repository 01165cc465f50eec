-- Client spans (and spans inside a process that say that they call a model) and the spans below them: whom a call reached.
--
-- A child is remote when it is a server span or comes from another resource than its parent.
-- Children that the caller does not wait for (`tracekit.async`) are no part of the call.
--
-- Made into the temporary table `batch_calls`. Reads batch_spans.
-- Columns:
--   span_row: the calling span.
--   remote_count: spans directly below it that are remote.
--   local_count: other spans directly below it.
--   callee_row, callee_service, callee_start_ns, callee_end_ns: the remote child where there is
--     exactly one.
WITH
pairs AS (
    SELECT
        caller.span_row,
        child.span_row AS child_row,
        child.service_name,
        child.start_ns,
        child.end_ns,
        child.kind = 2 OR child.resource_id != caller.resource_id AS is_remote
    FROM batch_spans AS caller
    INNER JOIN batch_spans AS child
        ON child.trace_no = caller.trace_no AND child.parent_span_id = caller.span_id
    WHERE (
        caller.kind = 3
        OR caller.attributes['openinference.span.kind']::VARCHAR IN ('LLM', 'EMBEDDING')
        OR caller.attributes['gen_ai.operation.name']::VARCHAR
        IN ('chat', 'text_completion', 'generate_content', 'embeddings')
        OR caller.attributes['ai.operationId'] IS NOT NULL
    )
        AND NOT coalesce(TRY_CAST(child.attributes['tracekit.async'] AS BOOLEAN), FALSE)
)
SELECT
    span_row,
    count_if(is_remote) AS remote_count,
    count_if(NOT is_remote) AS local_count,
    any_value(child_row) FILTER (WHERE is_remote) AS callee_row,
    any_value(service_name) FILTER (WHERE is_remote) AS callee_service,
    any_value(start_ns) FILTER (WHERE is_remote) AS callee_start_ns,
    any_value(end_ns) FILTER (WHERE is_remote) AS callee_end_ns
FROM pairs
GROUP BY span_row
