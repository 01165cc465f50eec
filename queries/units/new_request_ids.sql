-- Names of requests that spans tell which are not in the units yet: by an attribute, or as a link to a span of another
-- trace, which is a name that the two share.
--
-- Anthropic's client (2 and later) sends a span of its own for each call. Beside OpenLLMetry's instrumentation, which
-- wraps the client without being its parent, a call outside any other span is two traces: the one of the client counts as
-- linked to the wrapper of its process that holds it and had the same answer (`gen_ai.response.id`), else to the one that
-- began last before it, if it ends inside.
--
-- Made into the temporary table `new_request_ids`. Reads the macro `said_request_ids` and the variable `built_through`.
-- Columns:
--   request_id: the name; for a link `link:` and the two ids of the linked span.
--   trace_id: trace of the spans.
--   first_ns, last_ns: earliest start and latest end of them, nanoseconds since the epoch.
WITH
said AS (
    SELECT
        trace_id,
        start_ns,
        end_ns,
        unnest(said_request_ids(attributes)) AS request_id
    FROM base.spans
    WHERE ingest_id > getvariable('built_through')
        AND resource_id IN (
            SELECT resource_id FROM base.span_attribute_keys WHERE list_contains(getvariable('request_id_keys'), key)
        )
),
links AS (
    SELECT
        'link:' || span_links.linked_trace_id || ':' || span_links.linked_span_id AS request_id,
        span_links.trace_id,
        owner.start_ns,
        owner.end_ns,
        span_links.linked_trace_id,
        linked.start_ns AS linked_start_ns,
        linked.end_ns AS linked_end_ns
    FROM base.span_links
    INNER JOIN base.spans AS owner
        ON owner.trace_id = span_links.trace_id AND owner.span_id = span_links.span_id
    INNER JOIN base.spans AS linked
        ON linked.trace_id = span_links.linked_trace_id AND linked.span_id = span_links.linked_span_id
    WHERE span_links.linked_trace_id != span_links.trace_id
        AND owner.kind != 5
        AND greatest(owner.ingest_id, linked.ingest_id) > getvariable('built_through')
),
lone_calls AS MATERIALIZED (
    SELECT
        spans.trace_id,
        spans.span_id,
        spans.resource_id,
        spans.start_ns,
        spans.end_ns,
        spans.ingest_id,
        scopes.name = 'com.anthropic.sdk.python' AS is_own,
        spans.attributes['gen_ai.response.id']::VARCHAR AS response_id
    FROM base.spans AS spans
    INNER JOIN base.scopes AS scopes USING (scope_id)
    WHERE scopes.name IN ('com.anthropic.sdk.python', 'opentelemetry.instrumentation.anthropic')
        AND spans.kind = 3
        AND spans.parent_span_id IS NULL
),
own_calls AS (
    SELECT * FROM lone_calls WHERE is_own
),
wrappers AS (
    SELECT * FROM lone_calls WHERE NOT is_own
),
-- Answers that share an id tell nothing.
answered AS MATERIALIZED (
    SELECT own_calls.span_id, own_calls.trace_id, wrappers AS wrapper
    FROM own_calls
    INNER JOIN wrappers
        ON wrappers.resource_id = own_calls.resource_id
        AND wrappers.response_id = own_calls.response_id
        AND wrappers.start_ns <= own_calls.start_ns
        AND wrappers.end_ns >= own_calls.end_ns
    QUALIFY count(*) OVER (PARTITION BY own_calls.span_id, own_calls.trace_id) = 1
        AND count(*) OVER (PARTITION BY wrappers.span_id, wrappers.trace_id) = 1
),
paired AS (
    SELECT own_calls AS call, answered.wrapper
    FROM own_calls
    INNER JOIN answered USING (trace_id, span_id)
    UNION ALL
    SELECT own_calls AS call, wrappers AS wrapper
    FROM (SELECT * FROM own_calls ANTI JOIN answered USING (trace_id, span_id)) AS own_calls
    ASOF JOIN (
        SELECT * FROM wrappers ANTI JOIN answered ON answered.wrapper.span_id = wrappers.span_id
    ) AS wrappers
        ON wrappers.resource_id = own_calls.resource_id AND wrappers.start_ns <= own_calls.start_ns
    WHERE own_calls.end_ns <= wrappers.end_ns
),
wrapped AS (
    SELECT
        'link:' || wrapper.trace_id || ':' || wrapper.span_id AS request_id,
        call.trace_id,
        call.start_ns,
        call.end_ns,
        wrapper.trace_id AS linked_trace_id,
        wrapper.start_ns AS linked_start_ns,
        wrapper.end_ns AS linked_end_ns
    FROM paired
    WHERE greatest(call.ingest_id, wrapper.ingest_id) > getvariable('built_through')
),
linked AS (
    SELECT * FROM links
    UNION ALL
    SELECT * FROM wrapped
),
told AS (
    SELECT request_id, trace_id, start_ns, end_ns
    FROM said
    WHERE request_id IS NOT NULL
    UNION ALL
    SELECT request_id, trace_id, start_ns, end_ns
    FROM linked
    UNION ALL
    SELECT request_id, linked_trace_id, linked_start_ns, linked_end_ns
    FROM linked
)
SELECT
    request_id,
    trace_id,
    min(start_ns) AS first_ns,
    max(greatest(start_ns, end_ns)) AS last_ns
FROM told
GROUP BY request_id, trace_id
ORDER BY request_id, trace_id
