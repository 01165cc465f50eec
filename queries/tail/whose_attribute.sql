-- Time of single stages by the value of an attribute of the unit, on both sides of a tail question.
--
-- Reads tail_whose, made by `whose_units.sql`.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   dimension: key of the attribute.
--   value: its value as text; units without one are left out.
--   stage: the stage.
--   side: 0 = the selection, 1 = the baseline selection.
--   block: block of time of the baseline; 0 for the selection.
--   unit_count: units with the value.
--   sum_ns: their time in the stage, nanoseconds; summed as integers, so that the order of rows does not matter.
--   log_sum: sum of their `log_ratio`.
--   log_square_sum: the sum of its squares.
WITH
described AS (
    SELECT
        tail_whose.*,
        variant_extract(units.attributes, $attribute)::VARCHAR AS value
    FROM tail_whose
    INNER JOIN base.units USING (unit_id)
)
SELECT
    $attribute AS dimension,
    value,
    stage,
    side,
    block,
    count(*) AS unit_count,
    sum(self_ns)::DOUBLE AS sum_ns,
    sum(log_ratio)::DOUBLE AS log_sum,
    sum(log_ratio::HUGEINT * log_ratio)::DOUBLE AS log_square_sum
FROM described
WHERE value IS NOT NULL
GROUP BY ALL
ORDER BY value, stage, side, block
