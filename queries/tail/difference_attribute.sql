-- How often each value of an attribute occurs in the tail and in the rest, by block of time.
--
-- Reads tail_attributes, made by `attribute_rows.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   dimension: key of the attribute.
--   value: its value as text, NULL where a unit has none.
--   block: number of the block of time.
--   tail_count: units of the tail.
--   rest_count: units of the rest.
--   nested_count: units of the tail whose value is an array or an object.
WITH
units_values AS (
    SELECT
        is_tail,
        block,
        variant_extract(attributes, $attribute) AS content
    FROM tail_attributes
)
SELECT
    $attribute AS dimension,
    content::VARCHAR AS value,
    block,
    count(*) FILTER (WHERE is_tail) AS tail_count,
    count(*) FILTER (WHERE NOT is_tail) AS rest_count,
    count(*) FILTER (WHERE is_tail AND regexp_matches(variant_typeof(content), '^(OBJECT|ARRAY)')) AS nested_count
FROM units_values
GROUP BY ALL
ORDER BY value, block
