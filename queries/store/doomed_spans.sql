-- Traces that ended before a time, and of training jobs, whose traces may last for weeks, single spans that did.
--
-- Parameters:
--   $before_ns: what ended earlier goes, nanoseconds since the epoch.
-- Columns:
--   trace_id, span_id: the spans that go.
WITH
ended AS (
    SELECT trace_id
    FROM base.spans
    GROUP BY trace_id
    HAVING max(end_ns) < $before_ns
),

training AS (
    SELECT resource_id
    FROM base.resources
    WHERE job_id IS NOT NULL
)

SELECT trace_id, span_id
FROM base.spans
WHERE
    trace_id IN (FROM ended)
    OR (end_ns < $before_ns AND resource_id IN (FROM training))
ORDER BY trace_id, span_id
