-- How many values an attribute has in the tail, and whether all are scalar.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail).
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   value_count: number of different values.
--   nested_count: units whose value is an array or an object.
WITH
tail_values AS (
    SELECT variant_extract(units.attributes, $attribute) AS value
    FROM base.units
    SEMI JOIN (SELECT unit_id FROM tail_members WHERE band = 0) AS tail USING (unit_id)
)
SELECT
    count(DISTINCT value::VARCHAR) AS value_count,
    count(*) FILTER (WHERE regexp_matches(variant_typeof(value), '^(OBJECT|ARRAY)')) AS nested_count
FROM tail_values
