-- Traces that a search finds, whatever was made of them, the slowest or the latest first.
--
-- Parameters:
--   $text: what the name of the first root, a service or the trace id has in it, NULL for anything.
--   $service: a service that has spans in them, NULL for any.
--   $operation: the name of the first root, NULL for any.
--   $is_failed: whether a span of them must have failed.
--   $least_ns: the shortest duration in nanoseconds.
--   $below_ns: durations from it on are left out, in nanoseconds; NULL for no limit.
--   $latest_first: whether the latest come first instead of the slowest.
--   $limit: number of traces at most.
-- Columns:
--   start_ns: start of the first span, nanoseconds since the epoch.
--   name: name of the first root; of the first span where no root arrived.
--   services: services with spans in the trace.
--   span_count: its spans.
--   error_count: those of them with status ERROR.
--   e2e_ns: from its first start to its last end, in nanoseconds.
--   trace_id: the trace, hexadecimal.
--   found_count: all traces that the search finds.
WITH
traces AS (
    SELECT
        spans.trace_id,
        min(spans.start_ns) AS start_ns,
        max(spans.end_ns) - min(spans.start_ns) AS e2e_ns,
        count(*) AS span_count,
        count(*) FILTER (WHERE spans.status_code = 2) AS error_count,
        coalesce(
            arg_min(spans.name, spans.start_ns) FILTER (WHERE spans.parent_span_id IS NULL),
            arg_min(spans.name, spans.start_ns)
        ) AS name,
        list_sort(list(DISTINCT resources.service_name) FILTER (WHERE resources.service_name IS NOT NULL)) AS services
    FROM base.spans
    LEFT JOIN base.resources USING (resource_id)
    GROUP BY spans.trace_id
)
SELECT
    start_ns,
    name,
    array_to_string(services, ', ') AS services,
    span_count,
    error_count,
    e2e_ns,
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    count(*) OVER () AS found_count
FROM traces
WHERE
    e2e_ns >= $least_ns
    AND ($below_ns::BIGINT IS NULL OR e2e_ns < $below_ns)
    AND ($service::VARCHAR IS NULL OR list_contains(services, $service::VARCHAR))
    AND ($operation::VARCHAR IS NULL OR name = $operation::VARCHAR)
    AND (NOT $is_failed::BOOLEAN OR error_count > 0)
    AND (
        $text IS NULL
        OR contains(
            lower(concat_ws(' ', name, array_to_string(services, ' '), replace(trace_id::VARCHAR, '-', ''))),
            lower($text)
        )
    )
ORDER BY if($latest_first, start_ns, e2e_ns) DESC, trace_id
LIMIT $limit
