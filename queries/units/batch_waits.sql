-- Which span of the batch waits for which, where links say so, of several the one that ends last; and what reads the
-- answer of a model's call, for the call.
--
-- Reads batch_spans, batch_readers, wait_links.
-- Columns:
--   span_row: the span that waits.
--   awaited_row: the span that it waits for.
WITH
linked AS (
    SELECT
        waiting.span_row,
        arg_max(awaited.span_row, (awaited.end_ns, awaited.span_id)) AS awaited_row
    FROM wait_links
    INNER JOIN batch_spans AS waiting
        ON waiting.trace_id = wait_links.trace_id AND waiting.span_id = wait_links.span_id
    INNER JOIN batch_spans AS awaited
        ON awaited.trace_id = wait_links.trace_id AND awaited.span_id = wait_links.awaited_span_id
    WHERE waiting.span_row != awaited.span_row
    GROUP BY waiting.span_row
)
SELECT span_row, awaited_row
FROM linked
UNION ALL
SELECT batch_readers.span_row, batch_readers.call_row AS awaited_row
FROM batch_readers
ANTI JOIN linked USING (span_row)
