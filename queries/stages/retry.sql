-- Operations of attempts that failed and were repeated, whatever sent them.
--
-- An attempt is repeated where a later span of the same name and kind, under the same parent,
-- begins after it ended with status ERROR. A call of a model is repeated by any later call of the same
-- operation there, whatever its model: a fallback. All time of such an attempt and of what ran below it is
-- `retry`, and so is the time that the parent itself spends until the next attempt (the backoff).
-- The attempt that ends the series, well or badly, keeps its own stages, and so does one that has
-- seen a first token: its tokens are used where another one goes on.
--
-- Reads batch_spans, first_token_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; 1, the time between two attempts inside their parent.
--   stage: retry.
--   operation: name of the span, of the time between two attempts that of the attempts with
--     `/backoff`.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL for the span itself.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
WITH RECURSIVE
failed AS (
    SELECT *
    FROM batch_spans
    ANTI JOIN first_token_events USING (trace_id, span_id)
    WHERE status_code = 2 AND parent_span_id IS NOT NULL
),
repeated AS (
    SELECT
        failed.span_row,
        failed.trace_no,
        failed.span_id,
        failed.parent_span_id,
        failed.name,
        failed.end_ns,
        min(later.start_ns) AS next_start_ns
    FROM failed
    INNER JOIN batch_spans AS later
        ON later.trace_no = failed.trace_no
        AND later.parent_span_id = failed.parent_span_id
        AND (
            later.name = failed.name
            OR later.attributes['gen_ai.operation.name']::VARCHAR
            = failed.attributes['gen_ai.operation.name']::VARCHAR
        )
        AND later.kind = failed.kind
        AND later.start_ns >= failed.end_ns
        AND later.span_row != failed.span_row
    GROUP BY ALL
),
below (span_row, trace_no, span_id, name) AS (
    SELECT span_row, trace_no, span_id, name
    FROM repeated
    UNION
    SELECT child.span_row, child.trace_no, child.span_id, child.name
    FROM below
    INNER JOIN batch_spans AS child
        ON child.trace_no = below.trace_no AND child.parent_span_id = below.span_id
)
SELECT span_row, 0 AS part, 'retry' AS stage, name AS operation
FROM below
UNION ALL BY NAME
SELECT
    parent.span_row,
    1 AS part,
    'retry' AS stage,
    repeated.name || '/backoff' AS operation,
    repeated.end_ns AS start_ns,
    repeated.next_start_ns AS end_ns,
    repeated.span_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM repeated
INNER JOIN batch_spans AS parent
    ON parent.trace_no = repeated.trace_no AND parent.span_id = repeated.parent_span_id
WHERE repeated.end_ns < repeated.next_start_ns
