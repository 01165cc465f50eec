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
--   unit_count: units with the value.
--   mean_ns: their mean time in the stage.
--   variance_ns2: its variance over them; NULL for one unit.
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
    count(*) AS unit_count,
    avg(self_ns) AS mean_ns,
    var_samp(self_ns) AS variance_ns2
FROM described
WHERE value IS NOT NULL
GROUP BY ALL
ORDER BY value, stage, side
