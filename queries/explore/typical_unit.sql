-- The request in the middle of those of the same service and name that ended well: what a slow one is laid beside.
--
-- Parameters:
--   $trace_id: trace of the request to compare, 32 hexadecimal digits.
-- Columns:
--   trace_id: trace of the typical request, hexadecimal.
--   e2e_ns: its duration in nanoseconds.
--   like_count: number of requests of that service and name that ended well, without the one itself.
WITH
asked AS (
    SELECT kind, service_name, name
    FROM base.units
    WHERE trace_id = $trace_id::UUID AND kind = 'request'
    ORDER BY start_ns, unit_id
    LIMIT 1
),
alike AS (
    SELECT
        units.trace_id,
        units.end_ns - units.start_ns AS e2e_ns,
        row_number() OVER (ORDER BY units.end_ns - units.start_ns, units.unit_id) AS place,
        count(*) OVER () AS like_count
    FROM base.units
    INNER JOIN asked
        ON units.kind = asked.kind
        AND units.name = asked.name
        AND units.service_name IS NOT DISTINCT FROM asked.service_name
    WHERE units.outcome = 'ok' AND units.trace_id != $trace_id::UUID
)
SELECT
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    e2e_ns,
    like_count
FROM alike
WHERE place = (like_count + 1) // 2
