-- What was refused, set aside, known already or not looked at yet when records arrived, one row a check.
--
-- Parameters:
--   $signal: only what concerns this signal (traces, metrics, logs) or may, because the signal is unknown; NULL
--     for all.
-- Columns:
--   check_name: `duplicates`, `failed_files`, `unbuilt_spans`, `rejected:<reason>` or `note:<reason>`.
--   finding_count: records, or files, that it was found in.
--   total_count: all records that arrived, or all files.
WITH
built AS (
    SELECT coalesce(max(ingest_id), 0) AS ingest_id
    FROM base.built_through
),
arrived AS (
    SELECT
        count(*) AS files,
        coalesce(sum(spans), 0) AS spans,
        coalesce(sum(spans) FILTER (WHERE ingest_id > (SELECT ingest_id FROM built)), 0) AS unbuilt_spans,
        count(*) FILTER (WHERE error IS NOT NULL) AS failed_files,
        coalesce(sum(duplicates), 0) AS duplicates,
        coalesce(sum(spans + metric_points + logs + duplicates + rejected), 0) AS records
    FROM base.ingests
),
reasons AS (
    SELECT
        CASE WHEN kind = 'note' THEN 'note:' ELSE 'rejected:' END || reason AS check_name,
        sum(record_count) AS finding_count
    FROM base.ingest_rejects
    WHERE $signal IS NULL OR signal IS NULL OR signal = $signal
    GROUP BY ALL
)
SELECT
    'duplicates' AS check_name,
    duplicates::BIGINT AS finding_count,
    records::BIGINT AS total_count
FROM arrived
UNION ALL
SELECT
    'failed_files',
    failed_files::BIGINT,
    files::BIGINT
FROM arrived
UNION ALL
SELECT
    'unbuilt_spans',
    unbuilt_spans::BIGINT,
    spans::BIGINT
FROM arrived
UNION ALL
SELECT
    reasons.check_name,
    reasons.finding_count::BIGINT,
    arrived.records::BIGINT
FROM reasons, arrived
ORDER BY check_name
