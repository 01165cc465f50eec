-- Operations of Ray Serve: the proxy takes a request (`proxy_http_request`, `proxy_grpc_request`), a
-- router chooses a replica (`route_to_replica`, older `proxy_route_to_replica`), a replica handles it
-- (`replica_handle_request`). Since 2.4x deployment and method follow in the name
-- (python/ray/serve/_private/replica.py, .../proxy.py; console output in Anyscale's tracing guide).
--
-- From the start of a route to that of its replica the request waits for a free slot and for the
-- choice; the two cannot be told apart. What the route spends after its replica is the stream back.
-- A replica's own time is that of its deployment. All are SERVER spans of services that are mostly
-- not named.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with its own name after a slash.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the
--     span.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
WITH
known AS MATERIALIZED (
    SELECT
        *,
        CASE
            WHEN starts_with(name, 'replica_handle_request') THEN 'replica'
            WHEN starts_with(name, 'route_to_replica') OR starts_with(name, 'proxy_route_to_replica')
                THEN 'route'
            ELSE 'proxy'
        END AS part_of
    FROM batch_spans
    WHERE regexp_matches(
        name,
        '^(proxy_http_request|proxy_grpc_request|(proxy_)?route_to_replica|replica_handle_request)( |$)'
    )
),
handled AS (
    SELECT
        route.span_row,
        route.name,
        arg_min(replica.span_row, replica.start_ns) AS first_row,
        min(replica.start_ns) AS first_ns,
        arg_max(replica.span_row, replica.end_ns) AS last_row,
        max(replica.end_ns) AS last_ns
    FROM known AS route
    INNER JOIN known AS replica
        ON replica.trace_no = route.trace_no AND replica.parent_span_id = route.span_id
    WHERE route.part_of = 'route' AND replica.part_of = 'replica'
    GROUP BY route.span_row, route.name
)
SELECT
    known.span_row,
    0 AS part,
    CASE
        WHEN known.part_of = 'proxy' THEN 'gw.ingress'
        WHEN known.part_of = 'route' THEN 'unattributed'
        ELSE coalesce(known.attributes['deployment']::VARCHAR, known.service_name)
            || ':' || known.name
    END AS stage,
    known.name AS operation
FROM known
UNION ALL BY NAME
SELECT
    span_row,
    1 AS part,
    'unsplit(gw.queue|gw.route)' AS stage,
    name || '/wait' AS operation,
    NULL::BIGINT AS start_ns,
    first_ns AS end_ns,
    first_row AS placed_by,
    'gap' AS source,
    'unsplit' AS quality
FROM handled
UNION ALL BY NAME
SELECT
    span_row,
    2 AS part,
    'out.stream' AS stage,
    name || '/stream' AS operation,
    last_ns AS start_ns,
    NULL::BIGINT AS end_ns,
    last_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM handled
