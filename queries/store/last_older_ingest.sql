-- The last ingest that brought one of the spans before those that were stored last.
--
-- Parameters:
--   $count: how many spans were stored last.
-- Columns:
--   ingest_id: number of the ingest, null where there are no spans before.
SELECT max(ingest_id) AS ingest_id
FROM base.spans
WHERE rowid <= (SELECT max(rowid) FROM base.spans) - $count
