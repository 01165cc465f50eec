-- How often each host of each service occurs in the requests of the tail and of the rest, by block of time.
--
-- A request is told by the host of a service on which its spans of that service last longest. Services on one host
-- differ in nothing and are left out; the instance stands for a host without a name.
-- Reads tail_members (`unit_id`, `band`, `bin`; band 0 = tail).
--
-- Parameters:
--   $rest_band: number of the band that the tail is compared with.
--   $block_count: number of blocks that the 1024 slices of time are merged into.
-- Columns:
--   dimension: the service, as `host of SERVICE`.
--   value: the host; units without spans of the service are left out.
--   block: number of the block of time.
--   tail_count: units of the tail.
--   rest_count: units of the rest.
WITH
hosts AS (
    SELECT
        resource_id,
        service_name,
        coalesce(host_name, service_instance_id) AS host
    FROM base.resources
    WHERE service_name IS NOT NULL AND coalesce(host_name, service_instance_id) IS NOT NULL
    QUALIFY min(host) OVER (PARTITION BY service_name) != max(host) OVER (PARTITION BY service_name)
),
members AS (
    SELECT
        tail_members.unit_id,
        tail_members.band,
        (tail_members.bin * $block_count) // 1024 AS block,
        units.trace_id,
        units.start_ns,
        units.end_ns
    FROM tail_members
    INNER JOIN base.units USING (unit_id)
    WHERE tail_members.band IN (0, $rest_band) AND units.kind = 'request'
),
served AS (
    SELECT
        members.unit_id,
        members.band,
        members.block,
        hosts.service_name,
        hosts.host,
        sum(spans.end_ns - spans.start_ns) AS duration_ns
    FROM base.spans
    INNER JOIN hosts USING (resource_id)
    INNER JOIN members
        ON spans.trace_id = members.trace_id
        AND spans.start_ns BETWEEN members.start_ns AND members.end_ns
    GROUP BY ALL
),
chosen AS (
    SELECT
        unit_id,
        band,
        block,
        service_name,
        arg_max(host, duration_ns) AS host
    FROM served
    GROUP BY ALL
)
SELECT
    'host of ' || service_name AS dimension,
    host AS value,
    block,
    count(*) FILTER (WHERE band = 0) AS tail_count,
    count(*) FILTER (WHERE band = $rest_band) AS rest_count
FROM chosen
GROUP BY ALL
ORDER BY dimension, value, block
