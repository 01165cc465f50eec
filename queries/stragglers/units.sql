-- The ranks' parts of the training steps that are looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   unit_id: the unit.
SELECT unit_id
FROM looked_at_steps
WHERE $job IS NULL OR job_id = $job
ORDER BY unit_id
