-- In which minutes the spans of older ingests start.
--
-- Parameters:
--   $last_ingest_id: the last of these ingests.
-- Columns:
--   first_ns, last_ns: earliest and latest of the starts in a minute, nanoseconds since the epoch.
SELECT
    min(start_ns) AS first_ns,
    max(start_ns) AS last_ns
FROM base.spans
WHERE ingest_id <= $last_ingest_id
GROUP BY start_ns // 60000000000
