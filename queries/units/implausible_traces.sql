-- Traces with a span whose times cannot be: a clock that counts from the start of its machine, a unit taken for another.
--
-- Compared with when the span arrived, so that old data stay what they are. A span of a training job may last for
-- weeks; one of a request lasts no day.
--
-- Made into the temporary table `implausible_traces`. Reads dirty_traces.
-- Parameters:
--   $past_tolerance_ns: how far before its arrival a span may start.
--   $future_tolerance_ns: how far after its arrival a span may end.
--   $longest_ns: how long a span of a request may last.
-- Columns:
--   trace_id: the trace.
SELECT DISTINCT spans.trace_id
FROM base.spans
INNER JOIN base.ingests USING (ingest_id)
SEMI JOIN (SELECT trace_id FROM dirty_traces WHERE NOT is_training) AS made USING (trace_id)
WHERE
    spans.start_ns < ingests.received_ns - $past_tolerance_ns
    OR greatest(spans.start_ns, spans.end_ns) > ingests.received_ns + $future_tolerance_ns
    OR spans.end_ns::HUGEINT - spans.start_ns > $longest_ns
