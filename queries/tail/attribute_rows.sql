-- Attributes of the units whose attributes are compared: the tail and the rest.
--
-- Reads tail_members (`unit_id`, `band`, `bin`; band 0 = tail).
--
-- Parameters:
--   $rest_band: number of the band that the tail is compared with.
--   $block_count: number of blocks that the 1024 slices of time are merged into.
-- Columns:
--   is_tail: whether the unit is one of the tail.
--   block: number of the block of time.
--   attributes: attributes of the unit.
SELECT
    tail_members.band = 0 AS is_tail,
    (tail_members.bin * $block_count) // 1024 AS block,
    units.attributes
FROM tail_members
INNER JOIN base.units USING (unit_id)
WHERE tail_members.band IN (0, $rest_band)
