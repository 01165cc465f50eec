-- Traces with spans which are not in the units yet, or the one that is shown: with those that share the name of a request
-- with them, their requests may change.
--
-- Made into the temporary table `touched_traces`. Reads the variables `built_through` and `shown_trace`.
-- Columns:
--   trace_id: the trace.
SELECT DISTINCT trace_id
FROM base.spans
WHERE CASE
    WHEN getvariable('shown_trace') IS NULL THEN ingest_id > getvariable('built_through')
    ELSE trace_id = getvariable('shown_trace')
END
