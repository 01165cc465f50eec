-- Operations of any other span: the stage is its service and its name.
--
-- The time that a client span spends around the one remote span that it waits for belongs to
-- neither side: it is transport and waiting between the two services, and a stage of its own,
-- `edge:caller->callee`.
--
-- Reads batch_spans and batch_calls (the remote spans that client spans wait for).
-- Columns:
--   span_row: the span.
--   part: 0, the span itself.
--   stage: `service:name`, or `edge:caller->callee`.
--   operation: name of the span.
SELECT
    batch_spans.span_row,
    0 AS part,
    CASE
        WHEN batch_spans.kind = 3 AND batch_calls.remote_count = 1
            THEN 'edge:' || batch_spans.service_name || '->' || batch_calls.callee_service
        ELSE batch_spans.service_name || ':' || batch_spans.name
    END AS stage,
    batch_spans.name AS operation
FROM batch_spans
LEFT JOIN batch_calls USING (span_row)
