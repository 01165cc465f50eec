-- The events of one span, in their order.
--
-- Parameters:
--   $trace_id: its trace, 32 hexadecimal digits.
--   $span_id: the span, 16 hexadecimal digits.
-- Columns:
--   event_index: position in the span.
--   time_ns: time of the event, nanoseconds since the epoch.
--   name: name of the event.
--   attributes: its attributes.
SELECT
    event_index,
    time_ns,
    name,
    attributes
FROM base.span_events
WHERE trace_id = $trace_id::UUID AND format('{:016x}', span_id) = $span_id
ORDER BY event_index
