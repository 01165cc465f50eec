-- What shows the first cause of each incident: the span, its exception, and log records of the request.
--
-- Reads failure_causes, failure_spans and failure_incidents, made by `incidents.sql`.
-- Columns:
--   incident: its number.
--   source: span, exception or log.
--   time_ns: when, nanoseconds since the epoch.
--   span_id: the span, NULL for a record that names none.
--   text: what it says.
WITH
firsts AS (
    SELECT failure_incidents.incident, failure_causes.unit_id, failure_causes.trace_id, failure_causes.span_id
    FROM failure_incidents
    INNER JOIN failure_causes USING (unit_id)
),
shown AS (
    SELECT
        firsts.incident,
        'span' AS source,
        failure_spans.end_ns AS time_ns,
        failure_spans.span_id,
        concat_ws(': ', failure_spans.name, failure_spans.error_type) AS text
    FROM firsts
    INNER JOIN failure_spans USING (unit_id, span_id)
    UNION ALL BY NAME
    SELECT
        firsts.incident,
        'exception' AS source,
        span_events.time_ns,
        span_events.span_id,
        concat_ws(
            ': ', span_events.attributes['exception.type']::VARCHAR, span_events.attributes['exception.message']::VARCHAR
        ) AS text
    FROM firsts
    INNER JOIN base.span_events USING (trace_id, span_id)
    WHERE span_events.name = 'exception'
    UNION ALL BY NAME
    SELECT
        firsts.incident,
        'log' AS source,
        coalesce(logs.time_ns, logs.observed_time_ns) AS time_ns,
        logs.span_id,
        logs.body::VARCHAR AS text
    FROM firsts
    INNER JOIN base.logs USING (trace_id)
    WHERE logs.severity_number >= 13
)
SELECT incident, source, time_ns, format('{:016x}', span_id) AS span_id, text
FROM shown
QUALIFY row_number() OVER (PARTITION BY incident, source ORDER BY time_ns, span_id, text) <= 5
ORDER BY incident, time_ns, source, span_id, text
