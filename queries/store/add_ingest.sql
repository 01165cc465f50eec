-- Makes the row of an ingest.
--
-- Parameters:
--   $ingest_id: its number.
--   $source: path or name of the sender.
--   $format: what was recognised, or null.
--   $received_ns: when it began, nanoseconds since the epoch.
--   $spans, $metric_points, $logs, $duplicates, $rejected: records so far.
--   $error: why it ended early, or null.
-- Columns:
--   count: rows added.
INSERT INTO base.ingests
VALUES (
    $ingest_id,
    $source,
    $format,
    $received_ns,
    $spans,
    $metric_points,
    $logs,
    $duplicates,
    $rejected,
    $error
)
