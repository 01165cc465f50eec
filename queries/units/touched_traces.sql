-- Traces whose requests may change: those with spans which are not in the units yet (or the one that is shown), and
-- those that share the name of a request with them, directly or by others.
--
-- A name that more traces had before than $most_traces is no name of one request: it joins nothing, before and after.
--
-- Made into the temporary table `touched_traces`. Reads new_request_ids and the variables `built_through` and
-- `shown_trace`.
-- Parameters:
--   $most_traces: traces that may share a name.
-- Columns:
--   trace_id: the trace.
WITH RECURSIVE
late AS (
    SELECT DISTINCT trace_id
    FROM base.spans
    WHERE CASE
        WHEN getvariable('shown_trace') IS NULL THEN ingest_id > getvariable('built_through')
        ELSE trace_id = getvariable('shown_trace')
    END
),
crowded AS MATERIALIZED (
    SELECT request_id
    FROM base.request_ids
    GROUP BY request_id
    HAVING count(DISTINCT trace_id) > $most_traces
),
named AS MATERIALIZED (
    SELECT request_id, trace_id
    FROM (
        SELECT request_id, trace_id FROM base.request_ids
        UNION
        SELECT request_id, trace_id FROM new_request_ids
    ) AS known
    ANTI JOIN crowded USING (request_id)
),
touched AS (
    SELECT trace_id
    FROM late
    UNION
    SELECT other.trace_id
    FROM touched
    INNER JOIN named AS mine USING (trace_id)
    INNER JOIN named AS other USING (request_id)
)
SELECT trace_id
FROM touched
