-- The values that an attribute of units has, the most frequent first.
--
-- Parameters:
--   $kind: request or step.
--   $attribute: key of the attribute.
--   $limit: number of values at most.
-- Columns:
--   value: the value as text.
--   is_text: whether the value is text (otherwise a number or a boolean).
--   unit_count: number of units with this value.
--   value_count: number of values that the attribute has altogether.
WITH
attribute_values AS (
    SELECT
        attributes[$attribute]::VARCHAR AS value,
        variant_typeof(attributes[$attribute]) = 'VARCHAR' AS is_text
    FROM units
    WHERE kind = $kind
),
value_counts AS (
    SELECT
        value,
        is_text,
        count(*) AS unit_count
    FROM attribute_values
    WHERE value IS NOT NULL
    GROUP BY value, is_text
)
SELECT
    value,
    is_text,
    unit_count,
    count(*) OVER () AS value_count
FROM value_counts
ORDER BY unit_count DESC, value, is_text
LIMIT $limit
