-- What arrived, the latest first: one row a file or stream, with what was not stored of it and why.
--
-- Parameters:
--   $limit: number of rows at most.
-- Columns:
--   ingest_id: number of the ingest.
--   source: path of the file or name of the sender.
--   format: encoding and framing that were recognised.
--   received_ns: when it began, nanoseconds since the epoch.
--   spans: spans that were stored.
--   metric_points: metric points that were stored.
--   logs: log records that were stored.
--   duplicates: records that were there already.
--   rejected: records that were not stored.
--   reasons: why, as text; NULL where nothing was set aside.
--   error: why it ended early; NULL where it did not.
WITH
reasons AS (
    SELECT
        ingest_id,
        string_agg(reason || ' × ' || record_count, ', ' ORDER BY record_count DESC, reason) AS reasons
    FROM ingest_rejects
    GROUP BY ingest_id
)
SELECT
    ingests.ingest_id,
    ingests.source,
    ingests.format,
    ingests.received_ns,
    ingests.spans,
    ingests.metric_points,
    ingests.logs,
    ingests.duplicates,
    ingests.rejected,
    reasons.reasons,
    ingests.error
FROM ingests
LEFT JOIN reasons USING (ingest_id)
ORDER BY ingests.ingest_id DESC
LIMIT $limit
