-- Events and log records of the spans that are exported.
--
-- Parameters:
--   $trace_ids: traces to export, 32 hexadecimal digits each, as a list; NULL for all.
--   $first_ns: spans that end before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: spans that start from it on are left out; NULL for no limit.
-- Columns:
--   category: event or log.
--   trace_id: trace of the span, hexadecimal.
--   span_id: the span, hexadecimal.
--   time_ns: time of the event, nanoseconds since the epoch.
--   name_json: name of the event, or the message of the record, as a JSON string.
--   args_json: its attributes as a JSON object.
WITH
exported AS (
    SELECT trace_id, span_id
    FROM base.spans
    WHERE
        ($trace_ids::VARCHAR[] IS NULL OR trace_id IN (SELECT unnest($trace_ids::VARCHAR[])::UUID))
        AND ($first_ns::BIGINT IS NULL OR end_ns >= $first_ns)
        AND ($last_ns::BIGINT IS NULL OR start_ns < $last_ns)
),
moments AS (
    SELECT
        'event' AS category,
        trace_id,
        span_id,
        time_ns,
        name,
        json_object('attributes', attributes::JSON)::VARCHAR AS args_json,
        event_index AS place
    FROM base.span_events
    UNION ALL
    SELECT
        'log' AS category,
        trace_id,
        span_id,
        coalesce(time_ns, observed_time_ns) AS time_ns,
        coalesce(nullif(event_name, ''), body::VARCHAR, 'log') AS name,
        json_object(
            'severity', coalesce(nullif(severity_text, ''), severity_number::VARCHAR),
            'body', body::JSON,
            'attributes', attributes::JSON
        )::VARCHAR AS args_json,
        0 AS place
    FROM base.logs
    WHERE trace_id IS NOT NULL AND span_id IS NOT NULL
)
SELECT
    category,
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    time_ns,
    to_json(name)::VARCHAR AS name_json,
    args_json
FROM moments
SEMI JOIN exported USING (trace_id, span_id)
ORDER BY trace_id, span_id, time_ns, category, place, name_json
