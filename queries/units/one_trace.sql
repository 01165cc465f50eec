-- One trace, as the only one that counts as new.
--
-- Made into the temporary table `dirty_traces`. Reads training_resources and the variable
-- `shown_trace`.
-- Columns: see dirty_traces.
SELECT
    spans.trace_id,
    min(spans.start_ns) AS first_ns,
    max(spans.start_ns) AS last_ns,
    count(*) AS span_count,
    bool_or(training_resources.resource_id IS NOT NULL) AS is_training
FROM base.spans
LEFT JOIN training_resources USING (resource_id)
WHERE spans.trace_id = getvariable('shown_trace')
GROUP BY spans.trace_id
