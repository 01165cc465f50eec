-- The metric of units of both sides by their class and the value of an attribute.
--
-- Reads tail_attributes, made by `sampled_attributes.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   is_tail: whether the units are of the selection.
--   class_id: their class.
--   value: their value of the attribute as text, empty where they have none.
--   unit_count: number of units.
--   log_sum: sum of a million times ln(1 us + metric), which long tails move little.
--   log_square_sum: the sum of its squares.
WITH
described AS (
    SELECT
        is_tail,
        class_id,
        coalesce(variant_extract(attributes, $attribute)::VARCHAR, '') AS value,
        round(1e6 * ln(1e3 + value_ns))::BIGINT AS log_value
    FROM tail_attributes
)
SELECT
    is_tail,
    class_id,
    value,
    count(*) AS unit_count,
    sum(log_value)::DOUBLE AS log_sum,
    sum(log_value::HUGEINT * log_value)::DOUBLE AS log_square_sum
FROM described
GROUP BY ALL
ORDER BY is_tail, class_id, value
