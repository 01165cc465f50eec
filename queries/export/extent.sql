-- From when to when some traces go.
--
-- Parameters:
--   $trace_ids: the traces, 32 hexadecimal digits each, as a list.
-- Columns:
--   first_ns: start of their first span, nanoseconds since the epoch; NULL where there is none.
--   last_ns: end of their last span.
SELECT
    min(start_ns) AS first_ns,
    max(end_ns) AS last_ns
FROM base.spans
WHERE trace_id IN (SELECT unnest($trace_ids::VARCHAR[])::UUID)
