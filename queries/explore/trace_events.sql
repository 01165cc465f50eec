-- The events of all spans of one trace, by span and time.
--
-- Parameters:
--   $trace_id: the trace, 32 hexadecimal digits.
-- Columns:
--   span_id: the span, hexadecimal.
--   time_ns: time of the event, nanoseconds since the epoch.
--   name: name of the event.
SELECT
    format('{:016x}', span_id) AS span_id,
    time_ns,
    name
FROM base.span_events
WHERE trace_id = $trace_id::UUID
ORDER BY span_id, time_ns, event_index
