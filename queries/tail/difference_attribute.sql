-- How often each value of an attribute occurs in the tail and in the rest, by block of time.
--
-- Reads tail_members (`unit_id`, `band`, `bin`; band 0 = tail).
--
-- Parameters:
--   $attribute: key of the attribute.
--   $rest_band: number of the band that the tail is compared with.
--   $block_count: number of blocks that the 1024 slices of time are merged into.
-- Columns:
--   dimension: key of the attribute.
--   value: its value as text, NULL where a unit has none.
--   block: number of the block of time.
--   tail_count: units of the tail.
--   rest_count: units of the rest.
SELECT
    $attribute AS dimension,
    variant_extract(units.attributes, $attribute)::VARCHAR AS value,
    (tail_members.bin * $block_count) // 1024 AS block,
    count(*) FILTER (WHERE tail_members.band = 0) AS tail_count,
    count(*) FILTER (WHERE tail_members.band = $rest_band) AS rest_count
FROM tail_members
INNER JOIN base.units USING (unit_id)
WHERE tail_members.band IN (0, $rest_band)
GROUP BY ALL
ORDER BY value, block
