-- The first cause of each request that was not served: the span, process and stage where its failure began.
--
-- A failed call is followed to what ran in it last; where that sent no spans, to the service that calls from there
-- reach in other requests, if it is one. What ended before the failure did not cause it, calls apart. A time-out is a
-- messenger: it is followed to the process behind it that took longest, and to the stage that did.
--
-- Reads request_endings, failure_spans and failure_origins, made by `origins.sql`.
-- Parameters:
--   $slack_ns: what ended at most so long before a failure was still running when it came.
-- Columns:
--   unit_id, ending: the request and how it ended.
--   rule: self (the request's own span failed), propagated (something below it), messenger (a time-out), unseen (a
--     call to something that sent no spans).
--   trace_id, span_id: the span where it began.
--   failed_ns: when, nanoseconds since the epoch.
--   service, host: process that is the cause, NULL where it is not known.
--   stage: stage that was at work, NULL where none is known.
--   operation: name of the span.
--   error_type, message: what it says.
--   hop_count: callers that passed it on.
--   origin_ns: how long that span lasted, for a time-out the limit that ran out.
WITH RECURSIVE
-- A span that only has the status of an error is described by the caller that passed the error on.
begun AS (
    SELECT
        failure_origins.hop_count,
        failure_spans.* EXCLUDE (error_type, message),
        coalesce(failure_spans.error_type, callers.error_type) AS error_type,
        coalesce(failure_spans.message, callers.message) AS message
    FROM failure_origins
    INNER JOIN failure_spans USING (unit_id, span_id)
    LEFT JOIN failure_spans AS callers
        ON callers.unit_id = failure_origins.unit_id AND callers.span_id = failure_origins.above_error_id
),
-- What runs in another process had ended for the caller when the caller's span had, whatever its own clock says.
below AS (
    SELECT unit_id, span_id AS origin_id, span_id, 0 AS depth, resource_id, end_ns
    FROM begun
    UNION
    SELECT
        below.unit_id,
        below.origin_id,
        child.span_id,
        below.depth + 1 AS depth,
        child.resource_id,
        CASE
            WHEN child.resource_id = below.resource_id THEN child.end_ns
            ELSE least(child.end_ns, below.end_ns)
        END AS end_ns
    FROM below
    INNER JOIN failure_spans AS child ON child.unit_id = below.unit_id AND child.parent_span_id = below.span_id
    WHERE below.depth < 1000
),
inside AS (
    SELECT
        begun.unit_id,
        begun.is_timeout,
        begun.resource_id AS origin_resource_id,
        below.depth,
        ran.span_id,
        ran.name,
        ran.start_ns,
        below.end_ns,
        ran.resource_id,
        below.depth = 0 OR begun.kind = 3 OR below.end_ns >= begun.failed_ns - $slack_ns AS was_running
    FROM below
    INNER JOIN begun USING (unit_id)
    INNER JOIN failure_spans AS ran ON ran.unit_id = below.unit_id AND ran.span_id = below.span_id
),
culprits AS (
    SELECT
        unit_id,
        CASE
            WHEN any_value(is_timeout)
                THEN coalesce(
                    arg_max(resource_id, end_ns - start_ns) FILTER (WHERE resource_id != origin_resource_id),
                    any_value(origin_resource_id)
                )
            ELSE arg_max(resource_id, (end_ns, depth)) FILTER (WHERE was_running)
        END AS resource_id,
        arg_max(name, (end_ns, depth)) FILTER (WHERE was_running) AS last_operation,
        max(depth) > 0 AS has_inside,
        bool_or(resource_id != origin_resource_id) AS has_remote
    FROM inside
    GROUP BY unit_id
),
stage_times AS (
    SELECT
        unit_stages.unit_id,
        unit_stages.operation,
        unit_stages.stage,
        sum(unit_stages.self_ns) AS self_ns
    FROM base.unit_stages AS unit_stages
    SEMI JOIN begun USING (unit_id)
    WHERE unit_stages.stage != 'unattributed'
    GROUP BY ALL
),
-- Client and server may call an operation alike (gRPC): then the stage of the process that is the cause counts.
last_stages AS (
    SELECT
        stage_times.unit_id,
        arg_max(
            stage_times.stage,
            (
                stage_times.stage != 'retry',
                coalesce(starts_with(stage_times.stage, resources.service_name || ':'), FALSE),
                stage_times.self_ns
            )
        ) AS stage
    FROM stage_times
    INNER JOIN culprits ON culprits.unit_id = stage_times.unit_id AND culprits.last_operation = stage_times.operation
    LEFT JOIN base.resources AS resources USING (resource_id)
    GROUP BY stage_times.unit_id
),
longest_stages AS (
    SELECT stage_times.unit_id, arg_max(stage_times.stage, (stage_times.stage != 'retry', stage_times.self_ns)) AS stage
    FROM stage_times
    INNER JOIN (SELECT DISTINCT unit_id, name FROM inside) AS inside
        ON inside.unit_id = stage_times.unit_id
        AND (stage_times.operation = inside.name OR starts_with(stage_times.operation, inside.name || '/'))
    GROUP BY stage_times.unit_id
),
-- Who calls whom in all requests, by the transport between them.
edges AS (
    SELECT
        split_part(substr(operation, 6), '->', 1) AS caller,
        split_part(substr(operation, 6), '->', 2) AS callee
    FROM (
        SELECT DISTINCT CASE WHEN starts_with(operation, 'edge:') THEN operation ELSE stage END AS operation
        FROM base.unit_stages
        WHERE starts_with(operation, 'edge:') OR starts_with(stage, 'edge:')
    )
),
only_callees AS (
    SELECT caller, any_value(callee) AS callee
    FROM edges
    -- What a service calls of itself tells nothing of whom it calls else.
    WHERE caller != callee
    GROUP BY caller
    HAVING count(DISTINCT callee) = 1
),
only_hosts AS (
    SELECT service_name AS service, any_value(coalesce(host_name, service_instance_id)) AS host
    FROM base.resources
    GROUP BY service_name
    HAVING count(DISTINCT coalesce(host_name, service_instance_id)) = 1
)
SELECT
    begun.unit_id,
    request_endings.ending,
    CASE
        WHEN begun.is_timeout THEN 'messenger'
        WHEN begun.kind = 3 AND NOT culprits.has_remote THEN 'unseen'
        WHEN begun.is_root THEN 'self'
        ELSE 'propagated'
    END AS rule,
    begun.trace_id,
    begun.span_id,
    begun.failed_ns,
    CASE
        WHEN begun.kind = 3 AND NOT culprits.has_remote
            THEN coalesce(only_callees.callee, begun.callee, resources.service_name)
        ELSE resources.service_name
    END AS service,
    CASE
        WHEN begun.kind = 3 AND NOT culprits.has_remote THEN only_hosts.host
        ELSE coalesce(resources.host_name, resources.service_instance_id)
    END AS host,
    -- Whom the caller reaches is known by its other calls: then a call without a span below it went there, too.
    CASE
        WHEN coalesce(CASE WHEN begun.is_timeout THEN longest_stages.stage END, last_stages.stage) = 'upstream'
            AND only_callees.callee IS NOT NULL
            THEN 'edge:' || callers.service_name || '->' || only_callees.callee
        ELSE coalesce(CASE WHEN begun.is_timeout THEN longest_stages.stage END, last_stages.stage)
    END AS stage,
    begun.name AS operation,
    begun.error_type,
    begun.message,
    begun.hop_count,
    begun.end_ns - begun.start_ns AS origin_ns
FROM begun
INNER JOIN request_endings USING (unit_id)
INNER JOIN culprits USING (unit_id)
LEFT JOIN base.resources AS resources ON resources.resource_id = culprits.resource_id
LEFT JOIN base.resources AS callers ON callers.resource_id = begun.resource_id
LEFT JOIN only_callees ON only_callees.caller = callers.service_name
LEFT JOIN only_hosts ON only_hosts.service = only_callees.callee
LEFT JOIN last_stages ON last_stages.unit_id = begun.unit_id
LEFT JOIN longest_stages ON longest_stages.unit_id = begun.unit_id
