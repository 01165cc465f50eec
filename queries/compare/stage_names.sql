-- Stages that the served requests of one side of a comparison spend time in.
--
-- Reads compared_units (`unit_id`: the served requests).
-- Columns:
--   stage: the stage.
SELECT DISTINCT unit_stages.stage
FROM base.unit_stages AS unit_stages
SEMI JOIN compared_units USING (unit_id)
ORDER BY unit_stages.stage
