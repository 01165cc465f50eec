-- Single values that the senders of a metric kept, with the traces that they belong to; the largest first.
--
-- Parameters:
--   $metric: name of the metric, canonical or the sender's own.
--   $first_ns: those before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: those from it on are left out; NULL for no limit.
--   $limit: number of values at most.
-- Columns:
--   time_ns: when it was measured, nanoseconds since the epoch.
--   value: the value, in the unit of the metric.
--   service_name: service that measured it.
--   host_name: its host.
--   trace_id: trace that it belongs to, hexadecimal.
--   span_id: span that it belongs to, hexadecimal.
--   is_here: whether the trace is in the store.
SELECT
    exemplars.time_ns,
    coalesce(exemplars.value_double, exemplars.value_int::DOUBLE) AS value,
    metric_series.service_name,
    metric_series.host_name,
    exemplars.trace_id,
    exemplars.span_id,
    EXISTS (FROM base.spans WHERE spans.trace_id = exemplars.trace_id::UUID) AS is_here
FROM exemplars
INNER JOIN metric_series USING (stream_id)
WHERE
    (metric_series.metric = $metric OR metric_series.sender_name = $metric)
    AND exemplars.trace_id IS NOT NULL
    AND ($first_ns::BIGINT IS NULL OR exemplars.time_ns >= $first_ns)
    AND ($last_ns::BIGINT IS NULL OR exemplars.time_ns < $last_ns)
ORDER BY value DESC, exemplars.time_ns, exemplars.trace_id
LIMIT $limit
