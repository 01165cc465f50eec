-- Operations of Envoy: as a proxy before engines, as a gateway (Envoy Gateway, Istio) and below Envoy's AI gateway. All its
-- spans say `component=proxy` and `response_flags` (source/common/tracing/tracer_impl.cc, finalizeSpan).
--
-- A server span is the request as Envoy took it; with `spawn_upstream_span` a client span below it is one try of an upstream
-- (`router CLUSTER egress`). The time of the outermost of the two around the one server behind it is the way there and the stream back.
-- Where nobody behind sends spans, a try is `upstream`; a server span alone holds Envoy's own work, too, and the two
-- cannot be told apart.
--
-- How a request ended is told by its flags before its status: `queries/units/span_outcomes.sql`. Model and tokens are those
-- of the AI gateway's own spans (`ChatCompletion`, `chat MODEL`), which gateway.sql maps.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with its own name after a slash; `edge:caller->callee` for the way to a server.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the span.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
WITH
proxies AS MATERIALIZED (
    SELECT *
    FROM batch_spans
    WHERE attributes['component']::VARCHAR = 'proxy' AND attributes['response_flags'] IS NOT NULL
),
below AS (
    SELECT
        proxies.span_row,
        count(*) AS child_count,
        count(*) FILTER (WHERE child.resource_id != proxies.resource_id AND child.kind = 2) AS server_count,
        any_value(child.span_row) FILTER (WHERE child.resource_id != proxies.resource_id AND child.kind = 2)
            AS server_row
    FROM proxies
    INNER JOIN batch_spans AS child
        ON child.trace_no = proxies.trace_no AND child.parent_span_id = proxies.span_id
    GROUP BY proxies.span_row
),
reaching AS (
    SELECT
        proxies.span_row,
        proxies.name,
        proxies.service_name,
        server.span_row AS server_row,
        server.service_name AS server_name,
        server.start_ns,
        server.end_ns
    FROM proxies
    INNER JOIN below ON below.span_row = proxies.span_row AND below.server_count = 1
    INNER JOIN batch_spans AS server ON server.span_row = below.server_row
)
SELECT
    proxies.span_row,
    0 AS part,
    CASE
        WHEN below.server_count > 0 THEN 'unattributed'
        WHEN proxies.kind = 3 AND below.child_count IS NULL THEN 'upstream'
        WHEN below.child_count IS NULL THEN 'unsplit(gw.ingress|upstream)'
        ELSE 'gw.ingress'
    END AS stage,
    proxies.name AS operation
FROM proxies
LEFT JOIN below USING (span_row)
UNION ALL BY NAME
SELECT
    span_row,
    1 AS part,
    'net.dispatch' AS stage,
    'edge:' || service_name || '->' || server_name AS operation,
    NULL::BIGINT AS start_ns,
    start_ns AS end_ns,
    server_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM reaching
UNION ALL BY NAME
SELECT
    span_row,
    2 AS part,
    'out.stream' AS stage,
    name || '/stream' AS operation,
    end_ns AS start_ns,
    NULL::BIGINT AS end_ns,
    server_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM reaching
