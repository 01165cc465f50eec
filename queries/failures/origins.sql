-- Where the failure of each request began: of the spans that ended badly and have none such below them, the one that
-- failed first. Where only spans did that a handler above says to have dealt with, although the request failed, the last
-- of those; the request's own span where none ended badly. What a time-out cut off did not fail by itself.
--
-- Reads failure_spans and failure_reached, made by `reached.sql`.
-- Columns:
--   unit_id: the request.
--   span_id: the span.
--   hop_count: spans above it that ended badly, which only passed the error on.
--   above_error_id: the nearest of them.
WITH
errors AS (
    SELECT failure_spans.*, failure_reached.depth, failure_reached.hop_count, failure_reached.above_error_id
    FROM failure_reached
    INNER JOIN failure_spans USING (unit_id, span_id)
    WHERE failure_spans.is_error AND NOT failure_reached.is_cut_off
),
passing AS (
    SELECT DISTINCT unit_id, above_error_id AS span_id
    FROM errors
    WHERE above_error_id IS NOT NULL
),
swallowed AS (
    SELECT failure_spans.*
    FROM failure_spans
    ANTI JOIN failure_reached USING (unit_id, span_id)
    WHERE failure_spans.is_error
),
candidates AS (
    SELECT unit_id, span_id, hop_count, above_error_id, failed_ns, depth, 2 AS certainty
    FROM errors
    ANTI JOIN passing USING (unit_id, span_id)
    UNION ALL BY NAME
    SELECT unit_id, span_id, 0 AS hop_count, NULL AS above_error_id, -failed_ns AS failed_ns, 0 AS depth, 1 AS certainty
    FROM swallowed
    -- What failed inside it as it ended is what it failed by.
    ANTI JOIN swallowed AS inside
        ON inside.unit_id = swallowed.unit_id
        AND inside.start_ns >= swallowed.start_ns
        AND inside.end_ns - inside.start_ns < swallowed.end_ns - swallowed.start_ns
        AND inside.end_ns
        BETWEEN swallowed.end_ns - 1000000 - (swallowed.end_ns - swallowed.start_ns) // 50 AND swallowed.end_ns
    UNION ALL BY NAME
    SELECT unit_id, span_id, 0 AS hop_count, NULL AS above_error_id, failed_ns, 0 AS depth, 0 AS certainty
    FROM failure_spans
    WHERE is_root
)
SELECT unit_id, span_id, hop_count, above_error_id
FROM candidates
QUALIFY row_number() OVER (PARTITION BY unit_id ORDER BY certainty DESC, failed_ns, depth DESC, span_id) = 1
