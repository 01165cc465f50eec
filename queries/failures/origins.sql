-- Where the failure of each request began: of the spans that ended badly and have none such below them, the one that
-- failed first; the request's own span where none ended badly. What a time-out cut off did not fail by itself.
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
candidates AS (
    SELECT unit_id, span_id, hop_count, above_error_id, failed_ns, depth, TRUE AS is_error
    FROM errors
    ANTI JOIN passing USING (unit_id, span_id)
    UNION ALL BY NAME
    SELECT unit_id, span_id, 0 AS hop_count, NULL AS above_error_id, failed_ns, 0 AS depth, FALSE AS is_error
    FROM failure_spans
    WHERE is_root
)
SELECT unit_id, span_id, hop_count, above_error_id
FROM candidates
QUALIFY row_number() OVER (PARTITION BY unit_id ORDER BY is_error DESC, failed_ns, depth DESC, span_id) = 1
