-- Names of requests that the spans of a batch tell, by an attribute or as a link to a span of another trace, which is a
-- name that the two share: as units/new_request_ids has them.
--
-- Reads the registered tables spans_in (span_row, trace_id, kind, attributes as JSON text) and links_in (span_row,
-- linked_trace_id, linked_span_id), and the macros `telling`, `told` and `said_request_ids`.
-- Columns:
--   name: the name; for a link `link:` and the two ids of the linked span.
--   trace_id: 16 bytes.
WITH
found AS (
    SELECT DISTINCT trace_id, telling(attributes) AS found
    FROM spans_in
    WHERE len(getvariable('request_id_keys')) > 0
),
said AS (
    SELECT trace_id, unnest(said_request_ids(told(found))) AS name
    FROM found
),
links AS (
    SELECT
        'link:' || hex(links_in.linked_trace_id)::UUID || ':' || links_in.linked_span_id AS name,
        spans_in.trace_id,
        links_in.linked_trace_id
    FROM links_in
    INNER JOIN spans_in USING (span_row)
    WHERE links_in.linked_trace_id != spans_in.trace_id AND spans_in.kind != 5
)
SELECT name, trace_id
FROM said
WHERE name IS NOT NULL
UNION
SELECT name, trace_id
FROM links
UNION
SELECT name, linked_trace_id
FROM links
