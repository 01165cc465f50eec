-- What was noticed about the records of every job.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns: those of the view job_notes.
SELECT *
FROM base.job_notes
WHERE $job IS NULL OR job_id = $job
ORDER BY job_id, note
