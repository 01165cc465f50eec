-- Attributes and the end-to-end time of some requests of both sides of a comparison.
--
-- Reads compared_members (`unit_id`, `is_tail`, `class_id`, `value_ns`, `start_ns`). Made into the temporary table
-- `tail_attributes`, as `tail/sampled_attributes.sql` makes it of a tail question.
--
-- Parameters:
--   $one_in: of so many requests one is taken, as if by lot.
-- Columns:
--   is_tail: whether the request is one of those after.
--   block: always 0.
--   attributes: attributes of the request.
--   class_id: its class.
--   value_ns: its end-to-end time in nanoseconds.
SELECT
    compared_members.is_tail,
    0 AS block,
    units.attributes,
    compared_members.class_id,
    compared_members.value_ns
FROM compared_members
INNER JOIN base.units USING (unit_id)
WHERE hash(compared_members.start_ns) % $one_in = 0
