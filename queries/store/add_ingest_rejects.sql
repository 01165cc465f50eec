-- Stores what an ingest did not take, from the registered table `incoming_rejects`.
--
-- Parameters:
--   $ingest_id: number of the ingest.
-- Columns:
--   count: rows stored.
INSERT INTO base.ingest_rejects
SELECT
    $ingest_id AS ingest_id,
    kind,
    signal,
    reason,
    record_count,
    first_offset,
    example
FROM incoming_rejects
ORDER BY row
