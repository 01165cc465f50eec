-- The batches of traces and the range of time in which their spans start.
--
-- Reads request_batches.
-- Columns:
--   batch_no: number of the batch.
--   first_ns, last_ns: earliest and latest start of its spans, nanoseconds since the epoch.
SELECT
    batch_no,
    min(first_ns) AS first_ns,
    max(last_ns) AS last_ns
FROM request_batches
GROUP BY batch_no
ORDER BY batch_no
