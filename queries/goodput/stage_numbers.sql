-- Stages of all requests with a number each.
--
-- Columns:
--   stage: the stage.
--   stage_no: its number, from 0 in the order of names.
SELECT stage, (row_number() OVER (ORDER BY stage) - 1)::INTEGER AS stage_no
FROM (SELECT DISTINCT stage FROM base.unit_stages)
