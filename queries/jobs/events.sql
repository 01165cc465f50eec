-- What was said about a job going wrong: exceptions, messages of events, errors of spans, log records, counters of
-- hardware errors that rose.
--
-- Log records of hosts on which the job ran count too, whoever wrote them, while the job ran.
--
-- Reads job_resources.
-- Parameters:
--   $job: the job.
--   $first_ns, $last_ns: when the job ran, nanoseconds since the epoch.
-- Columns:
--   source: event, status, log or counter.
--   resource_id, host, rank, attempt: who said it; NULL where unknown.
--   time_ns: nanoseconds since the epoch.
--   message: what was said.
--   is_fatal: FALSE for an exception whose span ended well all the same.
--   trace_id: text of the id of the trace it lies in, NULL for none.
--   span_id: the span it lies in, as a number; NULL for none.
WITH
mine AS (
    SELECT * FROM job_resources WHERE job_id = $job
),
hosts AS (
    SELECT DISTINCT host FROM mine WHERE host IS NOT NULL
),
readings AS (
    SELECT
        streams.resource_id,
        streams.name,
        streams.attributes,
        points.time_ns,
        coalesce(points.value_int, points.value_double) AS reading,
        lag(coalesce(points.value_int, points.value_double)) OVER (
            PARTITION BY points.stream_id ORDER BY points.time_ns
        ) AS before
    FROM base.metric_points AS points
    INNER JOIN base.metric_streams AS streams USING (stream_id)
    INNER JOIN base.resources USING (resource_id)
    WHERE regexp_matches(lower(streams.name), 'xid|ecc|hw\.errors|link.?down|row.?remap|oom.?kill')
        AND (streams.resource_id IN (SELECT resource_id FROM mine) OR resources.host_name IN (SELECT host FROM hosts))
),
told AS (
    SELECT
        'event' AS source,
        spans.resource_id,
        events.time_ns,
        concat_ws(
            ': ', nullif(events.attributes['exception.type']::VARCHAR, ''),
            coalesce(events.attributes['exception.message']::VARCHAR, events.attributes['message']::VARCHAR)
        ) AS message,
        spans.trace_id,
        spans.span_id,
        spans.status_code = 2 AS is_fatal
    FROM base.span_events AS events
    INNER JOIN base.spans USING (trace_id, span_id)
    SEMI JOIN mine ON mine.resource_id = spans.resource_id
    WHERE events.name = 'exception' OR events.attributes['message'] IS NOT NULL
    UNION ALL
    SELECT 'status', resource_id, end_ns, status_message, trace_id, span_id, TRUE
    FROM base.spans
    SEMI JOIN mine USING (resource_id)
    WHERE status_code = 2 AND status_message IS NOT NULL
    UNION ALL
    SELECT
        'log',
        logs.resource_id,
        coalesce(logs.time_ns, logs.observed_time_ns),
        coalesce(logs.attributes['exception.message']::VARCHAR, logs.body::VARCHAR),
        logs.trace_id,
        logs.span_id,
        TRUE
    FROM base.logs
    LEFT JOIN base.resources USING (resource_id)
    WHERE (
            logs.resource_id IN (SELECT resource_id FROM mine)
            OR resources.host_name IN (SELECT host FROM hosts)
            AND coalesce(resources.job_id, $job) = $job
        )
        AND (logs.severity_number >= 13 OR logs.severity_number = 0)
    UNION ALL
    SELECT
        'counter',
        resource_id,
        time_ns,
        format('{} {} rose to {}', name, coalesce(attributes::VARCHAR, ''), reading),
        NULL,
        NULL,
        FALSE
    FROM readings
    WHERE reading > before AND before IS NOT NULL
)
SELECT
    told.source,
    told.resource_id,
    resources.host_name AS host,
    coalesce(mine.rank, resources.rank) AS rank,
    coalesce(mine.attempt, resources.attempt) AS attempt,
    told.time_ns,
    told.message,
    told.is_fatal,
    told.trace_id::VARCHAR AS trace_id,
    told.span_id
FROM told
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN mine USING (resource_id)
WHERE told.message <> '' AND told.time_ns BETWEEN $first_ns AND $last_ns
