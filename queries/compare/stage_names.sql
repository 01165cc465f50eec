-- Stages that requests of a store spend time in.
--
-- Columns:
--   stage: the stage.
SELECT DISTINCT stage
FROM base.unit_stages
ORDER BY stage
