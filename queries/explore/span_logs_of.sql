-- The log records that one span wrote, in order of time.
--
-- Parameters:
--   $trace_id: its trace, 32 hexadecimal digits.
--   $span_id: the span, 16 hexadecimal digits.
--   $limit: number of records at most.
-- Columns:
--   time_ns: time of the record (of its observation where it has none), nanoseconds since the epoch.
--   severity: severity as the sender wrote it, else its number as text.
--   body: the message.
--   event_name: name of the event, NULL for plain log records.
--   attributes: its attributes.
--   log_count: number of records of the span altogether.
SELECT
    coalesce(time_ns, observed_time_ns) AS time_ns,
    coalesce(nullif(severity_text, ''), nullif(severity_number, 0)::VARCHAR) AS severity,
    body::VARCHAR AS body,
    event_name,
    attributes,
    count(*) OVER () AS log_count
FROM base.logs
WHERE trace_id = $trace_id::UUID AND format('{:016x}', span_id) = $span_id
ORDER BY time_ns, severity, body
LIMIT $limit
