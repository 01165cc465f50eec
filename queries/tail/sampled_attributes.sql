-- Attributes and the metric of some units of both sides of a tail question, of all that enter and not of the slowest alone.
--
-- Reads tail_sampled, made by `sampled_units.sql`, and tail_units. Made into the temporary table `tail_attributes`.
--
-- Parameters:
--   $one_in: of so many sampled units one is taken, as if by lot.
-- Columns:
--   is_tail: whether the unit is one of the selection.
--   block: always 0.
--   attributes: attributes of the unit.
--   class_id: its class.
--   value_ns: its metric in nanoseconds.
SELECT
    tail_sampled.side = 0 AS is_tail,
    0 AS block,
    units.attributes,
    tail_sampled.class_id,
    tail_units.value_ns
FROM tail_sampled
INNER JOIN base.units USING (unit_id)
INNER JOIN tail_units ON tail_units.unit_id = tail_sampled.unit_id AND tail_units.side = tail_sampled.side
-- By when a unit began and not by its number, which depends on what arrived first.
WHERE hash(tail_sampled.start_ns) % $one_in = 0
