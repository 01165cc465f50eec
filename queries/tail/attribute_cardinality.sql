-- How many values an attribute has in the tail, and how many of them are nested.
--
-- Reads tail_attributes, made by `attribute_rows.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   value_count: number of different values.
--   nested_count: units whose value is an array or an object.
WITH
tail_values AS (
    SELECT variant_extract(attributes, $attribute) AS value
    FROM tail_attributes
    WHERE is_tail
)
SELECT
    count(DISTINCT value::VARCHAR) AS value_count,
    count(*) FILTER (WHERE regexp_matches(variant_typeof(value), '^(OBJECT|ARRAY)')) AS nested_count
FROM tail_values
