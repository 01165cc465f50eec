-- How many values an attribute has among a few units of the tail: many already there are many in all.
--
-- Reads tail_attributes, made by `attribute_rows.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
--   $unit_limit: number of units that are looked at.
-- Columns:
--   value_count: number of different values.
WITH
tail_values AS (
    SELECT variant_extract(attributes, $attribute)::VARCHAR AS value
    FROM tail_attributes
    WHERE is_tail
    LIMIT $unit_limit
)
SELECT count(DISTINCT value) AS value_count
FROM tail_values
