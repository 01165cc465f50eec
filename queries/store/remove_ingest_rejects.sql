-- Forgets what an ingest did not take, so that it can be written anew.
--
-- Parameters:
--   $ingest_id: number of the ingest.
-- Columns:
--   count: rows removed.
DELETE FROM base.ingest_rejects
WHERE ingest_id = $ingest_id
