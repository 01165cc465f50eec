-- Names of requests that spans tell which are not in the units yet: by an attribute, or as a link to a span of another
-- trace, which is a name that the two share.
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
told AS (
    SELECT request_id, trace_id, start_ns, end_ns
    FROM said
    WHERE request_id IS NOT NULL
    UNION ALL
    SELECT request_id, trace_id, start_ns, end_ns
    FROM links
    UNION ALL
    SELECT request_id, linked_trace_id, linked_start_ns, linked_end_ns
    FROM links
)
SELECT
    request_id,
    trace_id,
    min(start_ns) AS first_ns,
    max(greatest(start_ns, end_ns)) AS last_ns
FROM told
GROUP BY request_id, trace_id
ORDER BY request_id, trace_id
