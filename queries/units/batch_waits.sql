-- Which span of the batch waits for which, where links say so; of several the one that ends last
-- counts.
--
-- Reads batch_spans, wait_links.
-- Columns:
--   span_row: the span that waits.
--   awaited_row: the span that it waits for.
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
