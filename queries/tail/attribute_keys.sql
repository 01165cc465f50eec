-- Attributes that units of the tail have, the most frequent first.
--
-- Reads tail_attributes, made by `attribute_rows.sql`.
--
-- Columns:
--   attribute: key of the attribute.
--   unit_count: units of the tail that have it.
WITH
keys AS (
    SELECT unnest(variant_keys(attributes)) AS attribute
    FROM tail_attributes
    WHERE is_tail
)
SELECT
    attribute,
    count(*) AS unit_count
FROM keys
GROUP BY attribute
ORDER BY unit_count DESC, attribute
