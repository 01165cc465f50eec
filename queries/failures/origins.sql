-- Where the failure of each request began: of the spans that ended badly and have none such below them, the one that
-- failed first; the request's own span where none ended badly.
--
-- Reads failure_spans and failure_reached, made by `reached.sql`.
-- Columns:
--   unit_id: the request.
--   span_id: the span.
--   hop_count: spans above it that ended badly, which only passed the error on.
WITH
errors AS (
    SELECT failure_spans.*, failure_reached.depth, failure_reached.hop_count
    FROM failure_reached
    INNER JOIN failure_spans USING (unit_id, span_id)
    WHERE failure_spans.is_error
),
lowest AS (
    SELECT *
    FROM errors
    ANTI JOIN (SELECT unit_id, above_error_id AS span_id FROM failure_reached INNER JOIN failure_spans USING (unit_id, span_id) WHERE failure_spans.is_error AND above_error_id IS NOT NULL) AS passing
        USING (unit_id, span_id)
),
candidates AS (
    SELECT unit_id, span_id, hop_count, failed_ns, depth, TRUE AS is_error FROM lowest
    UNION ALL BY NAME
    SELECT unit_id, span_id, 0 AS hop_count, failed_ns, 0 AS depth, FALSE AS is_error FROM failure_spans WHERE is_root
)
SELECT unit_id, span_id, hop_count
FROM candidates
QUALIFY row_number() OVER (PARTITION BY unit_id ORDER BY is_error DESC, failed_ns, depth DESC, span_id) = 1
