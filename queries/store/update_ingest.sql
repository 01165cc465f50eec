-- Brings the row of an ingest up to date.
--
-- Parameters:
--   $ingest_id: number of the ingest.
--   $format: what was recognised, or null.
--   $spans, $metric_points, $logs, $duplicates, $rejected: records so far.
--   $error: why it ended early, or null.
-- Columns:
--   count: rows changed.
UPDATE base.ingests
SET
    format = $format,
    spans = $spans,
    metric_points = $metric_points,
    logs = $logs,
    duplicates = $duplicates,
    rejected = $rejected,
    error = $error
WHERE ingest_id = $ingest_id
