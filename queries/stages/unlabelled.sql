-- Operations of spans inside training steps that do not name their stage: nothing is known but
-- their name.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself.
--   stage: unattributed.
--   operation: name of the span.
SELECT
    span_row,
    0 AS part,
    'unattributed' AS stage,
    name AS operation
FROM batch_spans
