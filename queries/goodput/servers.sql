-- Which process served each request: of the processes behind the services that requests come to, the one whose
-- longest span is longest; the process that it came to where no service is behind. Of a request that shows none of
-- the processes behind, nothing is known.
--
-- Reads judged_requests.
-- Columns:
--   unit_id: the request.
--   resource_id: the process.
WITH
requests AS MATERIALIZED (
    SELECT judged_requests.unit_id, units.trace_id, units.root_span_id, units.service_name
    FROM judged_requests
    INNER JOIN base.units AS units USING (unit_id)
),
front_services AS (
    SELECT DISTINCT service_name FROM requests
),
back_resources AS (
    SELECT resource_id
    FROM base.resources AS resources
    ANTI JOIN front_services ON front_services.service_name IS NOT DISTINCT FROM resources.service_name
),
behind AS (
    SELECT requests.unit_id, arg_max(spans.resource_id, spans.end_ns - spans.start_ns) AS resource_id
    FROM base.spans AS spans
    INNER JOIN back_resources USING (resource_id)
    INNER JOIN requests USING (trace_id)
    GROUP BY requests.unit_id
),
fronts AS (
    SELECT requests.unit_id, spans.resource_id
    FROM base.spans AS spans
    INNER JOIN requests ON requests.trace_id = spans.trace_id AND requests.root_span_id = spans.span_id
    WHERE NOT EXISTS (FROM behind)
)
FROM behind
UNION ALL BY NAME
FROM fronts
