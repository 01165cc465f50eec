-- How many spans of a called service arrived for the calls that should have one, by caller, callee and host of the
-- caller: what is lost without leaving an orphan behind.
--
-- A call is a client or producer span. Its callee shows by a server's span below it from another sender, by any from
-- another service, by a consumer below a producer, by a server's that has its id (as in Zipkin), by one that an id of
-- the request hangs there, or by a consumer that is linked to it. Calls are counted by caller, name and target (address,
-- first parts of the path, queue; numbers in them count as alike, so that hosts of one service are one target); where
-- none has a callee, it is a provider or a database that sends no spans, and nothing is missing. Calls that say that
-- they never reached anybody are not expected to have one.
--
-- Parameters:
--   $every: looks at one trace of so many.
-- Columns:
--   caller, callee: services.
--   operation: name of the call.
--   target: what the call asked for, NULL where it does not say.
--   caller_host: host of the caller, NULL where unknown.
--   expected_count: calls that should have a span of the callee.
--   arrived_count: those that have one.
--   first_missing_ns, last_missing_ns: start of the first and the last one that has none, nanoseconds since the epoch.
--   between_count: calls from the first to the last of these that have one; 0 where nothing arrived all that time.
WITH
-- Services by number, in the order of their names and those without one last: numbers are compared and counted fast.
senders AS MATERIALIZED (
    SELECT
        resource_id,
        service_name,
        dense_rank() OVER (ORDER BY service_name NULLS LAST)::INTEGER AS service_no
    FROM base.resources
),
calls AS MATERIALIZED (
    SELECT trace_id, span_id, name, kind, start_ns, resource_id, senders.service_no, spans.rowid AS span_row
    FROM base.spans AS spans
    LEFT JOIN senders USING (resource_id)
    WHERE kind IN (3, 4) AND hash(trace_id) % $every::UBIGINT = 0
),
children AS (
    SELECT
        calls.span_row,
        calls.kind,
        calls.resource_id,
        calls.service_no,
        child.kind AS child_kind,
        child.resource_id AS child_resource_id,
        senders.service_no AS child_service_no
    FROM calls
    INNER JOIN base.spans AS child ON child.trace_id = calls.trace_id AND child.parent_span_id = calls.span_id
    LEFT JOIN senders ON senders.resource_id = child.resource_id
),
answers AS (
    SELECT span_row, child_service_no AS service_no
    FROM children
    WHERE service_no IS NOT NULL AND (
        (kind = 4 AND child_kind = 5)
        OR (child_resource_id != resource_id AND (child_kind IN (2, 5) OR child_service_no != service_no))
    )
    UNION ALL
    SELECT calls.span_row, senders.service_no
    FROM calls
    INNER JOIN base.spans AS child ON child.trace_id = calls.trace_id AND child.span_id = calls.span_id
    LEFT JOIN senders ON senders.resource_id = child.resource_id
    WHERE child.kind IN (2, 5)
    UNION ALL
    SELECT calls.span_row, senders.service_no
    FROM calls
    INNER JOIN base.joined_spans ON joined_spans.parent_span_id = calls.span_id
    INNER JOIN base.spans AS child
        ON child.trace_id = joined_spans.trace_id AND child.span_id = joined_spans.span_id
    LEFT JOIN senders ON senders.resource_id = child.resource_id
    UNION ALL
    SELECT calls.span_row, senders.service_no
    FROM calls
    INNER JOIN base.span_links
        ON span_links.linked_trace_id = calls.trace_id AND span_links.linked_span_id = calls.span_id
    INNER JOIN base.spans AS child
        ON child.trace_id = span_links.trace_id AND child.span_id = span_links.span_id
    LEFT JOIN senders ON senders.resource_id = child.resource_id
    WHERE child.kind = 5
),
answered AS (
    SELECT span_row, min(service_no) AS callee_no
    FROM answers
    GROUP BY span_row
),
service_names AS (
    SELECT DISTINCT service_no, service_name FROM senders
),
known AS MATERIALIZED (
    SELECT
        calls.*,
        coalesce(resources.service_name, 'unknown') AS caller,
        coalesce(resources.host_name, resources.service_instance_id) AS caller_host,
        answered.span_row IS NOT NULL AS is_answered,
        coalesce(service_names.service_name, 'unknown') AS callee
    FROM calls
    LEFT JOIN base.resources AS resources USING (resource_id)
    LEFT JOIN answered USING (span_row)
    LEFT JOIN service_names ON service_names.service_no = answered.callee_no
),
-- Only the calls of names that sometimes have a callee need be looked at closely.
doubtful AS (
    SELECT known.*
    FROM known
    SEMI JOIN (
        SELECT caller, name, kind
        FROM known
        GROUP BY ALL
        HAVING bool_or(is_answered) AND NOT bool_and(is_answered)
    ) AS partly USING (caller, name, kind)
),
aimed AS (
    SELECT
        doubtful.*,
        regexp_replace(
            nullif(
                concat_ws(
                    ' ',
                    coalesce(
                        spans.attributes['peer.service']::VARCHAR,
                        spans.attributes['server.address']::VARCHAR,
                        spans.attributes['net.peer.name']::VARCHAR,
                        regexp_extract(
                            coalesce(spans.attributes['url.full']::VARCHAR, spans.attributes['http.url']::VARCHAR),
                            '^[a-z]+://([^/:?]+)',
                            1
                        )
                    ),
                    coalesce(
                        spans.attributes['messaging.destination.name']::VARCHAR,
                        spans.attributes['rpc.method']::VARCHAR,
                        regexp_extract(
                            coalesce(
                                spans.attributes['url.path']::VARCHAR,
                                spans.attributes['url.full']::VARCHAR,
                                spans.attributes['http.url']::VARCHAR,
                                spans.attributes['http.target']::VARCHAR
                            ),
                            '^(?:[a-z]+://[^/?]+)?((?:/[^/?]*){1,2})',
                            1
                        )
                    )
                ),
                ''
            ),
            '[0-9]+',
            '#',
            'g'
        ) AS target,
        spans.status_code = 2 AND coalesce(
            regexp_matches(
                lower(spans.attributes['error.type']::VARCHAR),
                'refused|connect_?error|connect_?timeout|name_?resolution|nodename|gaierror|unreachable|dns'
            ),
            FALSE
        ) AS never_arrived
    FROM doubtful
    INNER JOIN base.spans AS spans ON spans.rowid = doubtful.span_row
),
targets AS (
    SELECT
        caller,
        name,
        kind,
        target,
        mode(callee) FILTER (WHERE is_answered) AS callee
    FROM aimed
    GROUP BY ALL
    HAVING bool_or(is_answered)
),
together AS (
    SELECT aimed.* EXCLUDE (callee, kind), targets.callee
    FROM aimed
    INNER JOIN targets
        ON targets.caller = aimed.caller
        AND targets.name = aimed.name
        AND targets.kind = aimed.kind
        AND targets.target IS NOT DISTINCT FROM aimed.target
    WHERE aimed.is_answered OR NOT aimed.never_arrived
),
bounds AS (
    SELECT
        *,
        min(start_ns) FILTER (WHERE NOT is_answered) OVER of_host AS first_missing_ns,
        max(start_ns) FILTER (WHERE NOT is_answered) OVER of_host AS last_missing_ns
    FROM together
    WINDOW of_host AS (PARTITION BY caller, callee, name, target, caller_host)
)
SELECT
    caller,
    callee,
    name AS operation,
    target,
    caller_host,
    count(*)::BIGINT AS expected_count,
    count_if(is_answered)::BIGINT AS arrived_count,
    first_missing_ns,
    last_missing_ns,
    coalesce(
        count_if(is_answered AND start_ns BETWEEN first_missing_ns AND last_missing_ns), 0
    )::BIGINT AS between_count
FROM bounds
GROUP BY caller, callee, name, target, caller_host, first_missing_ns, last_missing_ns
ORDER BY expected_count - arrived_count DESC, caller, callee, operation, target, caller_host
