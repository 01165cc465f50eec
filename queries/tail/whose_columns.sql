-- Time of single stages by service, name and model of the unit, on both sides of a tail question.
--
-- Reads tail_whose, made by `whose_units.sql`.
--
-- Columns:
--   dimension: name of the column; `all` has the units whatever they are.
--   value: its value; units without one are left out.
--   stage: the stage.
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_count: units with the value.
--   mean_ns: their mean time in the stage.
--   variance_ns2: its variance over them; NULL for one unit.
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
    count(*) AS unit_count,
    avg(self_ns) AS mean_ns,
    var_samp(self_ns) AS variance_ns2
FROM dimensions
GROUP BY ALL
ORDER BY dimension, value, stage, side
