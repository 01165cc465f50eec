-- Traces with a span whose times cannot be: a clock that counts from the start of its machine, a unit taken for another.
--
-- A span of a training job may last for weeks; one of a request lasts no day. Where spans of one trace lie more than a
-- day apart, those that are far from when they arrived are of another clock. A trace that lies far away as a whole (a
-- replay, a simulated clock) has the durations that it has, and stays.
--
-- Made into the temporary table `implausible_traces`. Reads dirty_traces.
-- Parameters:
--   $past_tolerance_ns: how far before its arrival a span may start.
--   $future_tolerance_ns: how far after its arrival a span may end.
--   $longest_ns: how long a span of a request may last.
-- Columns:
--   trace_id: the trace.
SELECT spans.trace_id
FROM base.spans
INNER JOIN base.ingests USING (ingest_id)
SEMI JOIN (SELECT trace_id FROM dirty_traces WHERE NOT is_training) AS made USING (trace_id)
GROUP BY spans.trace_id
HAVING
    bool_or(spans.end_ns::HUGEINT - spans.start_ns > $longest_ns)
    OR (
        bool_or(
            spans.start_ns < ingests.received_ns - $past_tolerance_ns
            OR greatest(spans.start_ns, spans.end_ns) > ingests.received_ns + $future_tolerance_ns
        )
        AND max(greatest(spans.start_ns, spans.end_ns))::HUGEINT - min(spans.start_ns) > $longest_ns
    )
