-- Time of single stages by service, name and model of the unit, on both sides of a tail question.
--
-- Reads tail_whose, made by `whose_units.sql`.
--
-- Columns:
--   dimension: name of the column; `all` has the units whatever they are.
--   value: its value; units without one are left out.
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
        '' AS "all",
        units.service_name::VARCHAR AS service_name,
        units.name::VARCHAR AS name,
        units.model::VARCHAR AS model
    FROM tail_whose
    INNER JOIN base.units USING (unit_id)
),
dimensions AS (
    UNPIVOT described
    ON "all", service_name, name, model
    INTO NAME dimension VALUE value
)
SELECT
    dimension,
    value,
    stage,
    side,
    block,
    count(*) AS unit_count,
    sum(self_ns)::DOUBLE AS sum_ns,
    sum(log_ratio)::DOUBLE AS log_sum,
    sum(log_ratio::HUGEINT * log_ratio)::DOUBLE AS log_square_sum
FROM dimensions
GROUP BY ALL
ORDER BY dimension, value, stage, side, block
