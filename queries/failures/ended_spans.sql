-- All spans in the traces of the requests that were not served, read once for all that is asked of them: the attributes of
-- a span take far longer to read than the rest of it.
--
-- Reads request_selection. Made into the temporary table `ended_spans`.
-- Columns:
--   trace_id, span_id, parent_span_id, name, kind, start_ns, end_ns, resource_id, status_code, status_message: of the span.
--   attributes: its attributes.
WITH
ended AS (
    SELECT units.trace_id
    FROM request_selection
    INNER JOIN base.units AS units USING (unit_id)
    WHERE request_selection.outcome NOT IN ('ok', 'unknown')
),
-- Their traces: that of the request, and those that are part of it.
traces AS MATERIALIZED (
    SELECT trace_id
    FROM ended
    UNION
    SELECT joined_spans.trace_id
    FROM ended
    INNER JOIN base.joined_spans ON joined_spans.request_trace_id = ended.trace_id
)
SELECT
    spans.trace_id,
    spans.span_id,
    spans.parent_span_id,
    spans.name,
    spans.kind,
    spans.start_ns,
    spans.end_ns,
    spans.resource_id,
    spans.status_code,
    spans.status_message,
    spans.attributes
FROM base.spans
SEMI JOIN traces USING (trace_id)
