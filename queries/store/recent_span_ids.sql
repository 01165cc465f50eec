-- The ids of the spans that were stored last.
--
-- Parameters:
--   $count: how many spans.
-- Columns:
--   trace_id: 16 bytes.
--   span_id: as a number.
--   ingest_id: the ingest that the span came with.
SELECT
    trace_id::BLOB AS trace_id,
    span_id,
    ingest_id
FROM base.spans
WHERE rowid > (SELECT max(rowid) FROM base.spans) - $count
