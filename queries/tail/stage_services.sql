-- Which service the time of each stage belongs to, and which service an edge leads to.
--
-- A stage `service:name` or `edge:caller->callee` is read with the service of its span, so that names which hold a colon
-- or an arrow do not matter. A stage of the taxonomy belongs to the service whose spans have the name of its operation;
-- where spans of several services have it, to none of them.
-- Reads tail_calls, made by `call_rows.sql`: the spans are those of the first and the last unit with each operation.
--
-- Columns:
--   stage: the stage.
--   service: the service; NULL where there is none, or not one.
--   callee: the service that is called, for an edge; else NULL.
WITH
picked AS (
    SELECT
        stage,
        operation,
        unnest(list_distinct([arg_min(unit_id, (start_ns, side)), arg_max(unit_id, (start_ns, side))])) AS unit_id
    FROM tail_calls
    GROUP BY stage, operation
),
seen AS (
    SELECT DISTINCT
        picked.stage,
        resources.service_name::VARCHAR AS service
    FROM picked
    INNER JOIN base.units USING (unit_id)
    INNER JOIN base.spans ON spans.trace_id = units.trace_id AND spans.name = picked.operation
    INNER JOIN base.resources USING (resource_id)
    WHERE resources.service_name IS NOT NULL
),
named AS (
    SELECT
        stage,
        service,
        starts_with(stage, 'edge:' || service || '->') AS is_edge,
        starts_with(stage, service || ':') AS is_own
    FROM seen
),
-- Of `a` and `a->b` as callers the longer name is the one that the stage was made of.
chosen AS (
    SELECT
        stage,
        arg_max(service, length(service)) FILTER (WHERE is_edge) AS caller,
        arg_max(service, length(service)) FILTER (WHERE is_own) AS owner,
        CASE WHEN count(*) = 1 THEN any_value(service) END AS only_one
    FROM named
    GROUP BY stage
)
SELECT
    stage,
    coalesce(caller, owner, only_one) AS service,
    CASE WHEN caller IS NOT NULL THEN substr(stage, length('edge:' || caller || '->') + 1) END AS callee
FROM chosen
ORDER BY stage
