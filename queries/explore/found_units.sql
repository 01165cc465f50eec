-- Requests that a search finds, the slowest or the latest first.
--
-- Parameters:
--   $text: what the name, the service, the model, the trace id or an attribute has in it, NULL for anything.
--   $outcome: how they ended, NULL for any.
--   $least_ns: the shortest duration in nanoseconds.
--   $latest_first: whether the latest come first instead of the slowest.
--   $limit: number of units at most.
-- Columns:
--   start_ns: start of the unit, nanoseconds since the epoch.
--   service_name: service of the unit.
--   name: name of the unit.
--   model: model of the unit.
--   outcome: how it ended.
--   e2e_ns: its duration in nanoseconds.
--   ttft_ns: time to its first token in nanoseconds.
--   output_tokens: tokens that it made.
--   trace_id: trace of the unit, hexadecimal.
--   found_count: all units that the search finds.
SELECT
    start_ns,
    service_name,
    name,
    model,
    outcome,
    e2e_ns,
    ttft_ns,
    output_tokens,
    trace_id,
    count(*) OVER () AS found_count
FROM units
WHERE
    kind = 'request'
    AND ($outcome IS NULL OR outcome = $outcome)
    AND e2e_ns >= $least_ns
    AND (
        $text IS NULL
        OR contains(lower(concat_ws(' ', name, service_name, model, trace_id)), lower($text))
        OR contains(lower(attributes::VARCHAR), lower($text))
    )
ORDER BY if($latest_first, start_ns, e2e_ns) DESC, trace_id, unit_id
LIMIT $limit
