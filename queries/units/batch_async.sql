-- Spans that their parent does not wait for: by the attribute `tracekit.async`, and those that are open
-- beside the work and do none.
--
-- An ASGI server listens for the client to leave as long as it sends. A handler whose span has
-- nothing below while the work that it does hangs below a sibling is shown twice: the sibling has
-- the time. So it is with FastAPI's `fastapi.endpoint` and the functions of LangGraph's nodes.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
WITH
-- Few spans are handlers, siblings are many: to look for those of all spans costs the most.
handlers AS MATERIALIZED (
    SELECT *, name = 'fastapi.endpoint' AS is_endpoint
    FROM batch_spans
    WHERE parent_span_id IS NOT NULL AND (
        name = 'fastapi.endpoint' OR attributes['openinference.span.kind']::VARCHAR = 'CHAIN'
    )
),
shown_twice AS (
    SELECT handler.span_row
    FROM handlers AS handler
    INNER JOIN batch_spans AS sibling
        ON sibling.trace_no = handler.trace_no
        AND sibling.parent_span_id = handler.parent_span_id
        AND sibling.resource_id = handler.resource_id
        AND sibling.span_row != handler.span_row
    SEMI JOIN batch_spans AS work
        ON work.trace_no = handler.trace_no
        AND work.parent_span_id = sibling.span_id
        AND work.start_ns < handler.end_ns
        AND work.end_ns > handler.start_ns
    ANTI JOIN batch_spans AS child
        ON child.trace_no = handler.trace_no AND child.parent_span_id = handler.span_id
    WHERE handler.is_endpoint
        OR sibling.start_ns >= handler.start_ns AND sibling.end_ns <= handler.end_ns
)
SELECT span_row
FROM batch_spans
WHERE TRY_CAST(attributes['tracekit.async'] AS BOOLEAN)
    OR attributes['asgi.event.type']::VARCHAR = 'http.disconnect'
UNION
SELECT span_row
FROM shown_twice
