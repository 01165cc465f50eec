-- Kinds of requests divided by the value of an attribute: the population of each unit that enters a tail question.
--
-- Reads tail_units, made by `units.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   population: its population and its value of the attribute.
SELECT
    tail_units.side,
    tail_units.unit_id,
    concat_ws(
        ', ', tail_units.population, $attribute || ' ' || variant_extract(units.attributes, $attribute)::VARCHAR
    ) AS population
FROM tail_units
INNER JOIN base.units USING (unit_id)
WHERE tail_units.left_out IS NULL
