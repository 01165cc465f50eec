-- Cancelled requests whose sibling failed just before: collateral of that failure.
--
-- Siblings are requests whose traces a span link joins, directly or over one that both are joined with. A request is
-- collateral where it was cancelled after a sibling ended badly, within $reach_ns.
--
-- Reads failure_causes, made by `first_causes.sql`.
-- Parameters:
--   $reach_ns: how long after the failure of a sibling a cancellation still follows from it, nanoseconds.
-- Columns:
--   unit_id: the request that was cancelled.
--   cause_unit_id: the sibling that failed, the last one before.
WITH
ended AS MATERIALIZED (
    SELECT failure_causes.unit_id, failure_causes.ending, failure_causes.trace_id, units.end_ns
    FROM failure_causes
    INNER JOIN base.units AS units USING (unit_id)
),
joined AS MATERIALIZED (
    SELECT DISTINCT span_links.trace_id, span_links.linked_trace_id
    FROM base.span_links
    WHERE span_links.trace_id != span_links.linked_trace_id
        AND (
            span_links.trace_id IN (SELECT trace_id FROM ended)
            OR span_links.linked_trace_id IN (SELECT trace_id FROM ended)
        )
),
both_ways AS (
    SELECT trace_id, linked_trace_id AS other_id FROM joined
    UNION
    SELECT linked_trace_id AS trace_id, trace_id AS other_id FROM joined
),
cancelled AS (
    SELECT * FROM ended WHERE ending IN ('aborted_before', 'aborted_after')
),
siblings AS (
    SELECT cancelled.unit_id, cancelled.end_ns, both_ways.other_id
    FROM cancelled
    INNER JOIN both_ways USING (trace_id)
    UNION
    SELECT cancelled.unit_id, cancelled.end_ns, further.other_id
    FROM cancelled
    INNER JOIN both_ways USING (trace_id)
    INNER JOIN both_ways AS further ON further.trace_id = both_ways.other_id
)
SELECT siblings.unit_id, arg_max(failed.unit_id, failed.end_ns) AS cause_unit_id
FROM siblings
INNER JOIN ended AS failed ON failed.trace_id = siblings.other_id AND failed.unit_id != siblings.unit_id
WHERE failed.ending IN ('failed', 'timed_out', 'shed', 'rejected')
    AND failed.end_ns BETWEEN siblings.end_ns - $reach_ns AND siblings.end_ns
GROUP BY siblings.unit_id
