-- Traces whose units are made: those that have spans which arrived after the units were last brought up to date, and
-- those that may be part of one request with them; and where to find them.
--
-- A trace with spans of a training process has steps, not a request.
--
-- Made into the temporary table `dirty_traces`. Reads training_resources, touched_traces and the variable
-- `built_through`, the last ingest that is in the units, -1 for none.
-- Columns:
--   trace_id: the trace.
--   first_ns, last_ns: earliest and latest start of its spans, nanoseconds since the epoch.
--   span_count: number of its spans.
--   is_training: whether it has spans of a training process.
SELECT
    spans.trace_id,
    min(spans.start_ns) AS first_ns,
    max(spans.start_ns) AS last_ns,
    count(*) AS span_count,
    bool_or(training_resources.resource_id IS NOT NULL) AS is_training
FROM base.spans
LEFT JOIN training_resources USING (resource_id)
WHERE (getvariable('built_through') < 0 AND getvariable('shown_trace') IS NULL)
    OR spans.trace_id IN (FROM touched_traces)
GROUP BY spans.trace_id
