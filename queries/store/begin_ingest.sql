-- Makes the row of an ingest that begins, with the next free number.
--
-- Parameters:
--   $source: path or name of the sender.
--   $format: what was recognised, or null.
--   $received_ns: when it began, nanoseconds since the epoch.
--   $error: what to show if it never ends.
-- Columns:
--   ingest_id: number of the ingest.
INSERT INTO base.ingests
SELECT
    coalesce(max(ingest_id), 0) + 1 AS ingest_id,
    $source AS source,
    $format AS format,
    $received_ns AS received_ns,
    0 AS spans,
    0 AS metric_points,
    0 AS logs,
    0 AS duplicates,
    0 AS rejected,
    $error AS error
FROM base.ingests
RETURNING ingest_id
