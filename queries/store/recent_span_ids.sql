-- The ids of the spans that were stored last.
--
-- Parameters:
--   $count: how many spans.
-- Columns:
--   trace_id: 16 bytes.
--   span_id: as a number, of servers and consumers set apart from that of the spans that call them.
--   ingest_id: the ingest that the span came with.
--   start_ns: when the span starts, nanoseconds since the epoch.
SELECT
    trace_id::BLOB AS trace_id,
    CASE WHEN kind IN (2, 5) THEN xor(span_id, 11400714819323198485::UBIGINT) ELSE span_id END AS span_id,
    ingest_id,
    start_ns
FROM base.spans
WHERE rowid > (SELECT max(rowid) FROM base.spans) - $count
