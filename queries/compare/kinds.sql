-- Kinds of requests divided by the value of an attribute: the population of each request of a comparison.
--
-- Reads compared_members (`unit_id`, `population`).
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   unit_id: the request.
--   population: its population and its value of the attribute.
SELECT
    compared_members.unit_id,
    concat_ws(
        ', ', compared_members.population, $attribute || ' ' || variant_extract(units.attributes, $attribute)::VARCHAR
    ) AS population
FROM compared_members
INNER JOIN base.units USING (unit_id)
