-- Training jobs that the units of an answer belong to.
--
-- Reads tail_units, made by `tail/units.sql`.
--
-- Columns:
--   job_id: the job.
SELECT DISTINCT units.job_id
FROM base.units
SEMI JOIN (SELECT unit_id FROM tail_units WHERE left_out IS NULL) AS entering USING (unit_id)
WHERE units.kind = 'step' AND units.job_id IS NOT NULL
ORDER BY units.job_id
