-- How often each host of each service occurs in the requests of the tail and of the rest, by block of time.
--
-- Reads tail_members (`unit_id`, `band`, `bin`; band 0 = tail) and tail_hosts, made by `unit_hosts.sql`.
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
SELECT
    'host of ' || tail_hosts.service_name AS dimension,
    tail_hosts.host AS value,
    (tail_members.bin * $block_count) // 1024 AS block,
    count(*) FILTER (WHERE tail_members.band = 0) AS tail_count,
    count(*) FILTER (WHERE tail_members.band = $rest_band) AS rest_count
FROM tail_members
INNER JOIN tail_hosts USING (unit_id)
WHERE tail_members.band IN (0, $rest_band)
GROUP BY ALL
ORDER BY dimension, value, block
