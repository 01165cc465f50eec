-- Which attributes units have.
--
-- Parameters:
--   $kind: request or step.
-- Columns:
--   attribute: key of the attribute.
--   unit_count: number of units that have it.
WITH
attribute_keys AS (
    SELECT unnest(variant_keys(attributes)) AS attribute
    FROM units
    WHERE kind = $kind
)
SELECT
    attribute,
    count(*) AS unit_count
FROM attribute_keys
GROUP BY attribute
ORDER BY attribute
