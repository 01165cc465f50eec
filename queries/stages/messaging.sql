-- Operations of work that messages start: Celery's tasks, and whatever else sends PRODUCER and CONSUMER
-- spans.
--
-- A consumer below a producer is a unit of its own. Where a task is tried again (it sends itself
-- another message, below itself), all that an attempt did before the last one is `retry`, and so is
-- the wait between two attempts: the unit ends as its last attempt does. Time of the last attempt
-- keeps its own stages.
--
-- Attributes as in opentelemetry-instrumentation-celery 0.65b0 (`celery.state`, `celery.action`).
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself.
--   stage: retry.
--   operation: name of the span.
--   vantage: gateway, for attempts that were repeated.
--   outcome: ok where the last attempt ended well: then those before it do not count.
WITH RECURSIVE
work AS MATERIALIZED (
    SELECT
        span_row,
        trace_no,
        span_id,
        parent_span_id,
        kind,
        name,
        status_code
    FROM batch_spans
    WHERE trace_no IN (SELECT trace_no FROM batch_spans WHERE kind = 5)
),
-- Every consumer with what lies below it, as far as the next attempt.
below (attempt_row, trace_no, span_row, span_id, next_row) AS (
    SELECT span_row, trace_no, span_row, span_id, NULL::BIGINT
    FROM work
    WHERE kind = 5
    UNION
    SELECT
        below.attempt_row,
        below.trace_no,
        child.span_row,
        child.span_id,
        CASE WHEN child.kind = 5 THEN child.span_row END
    FROM below
    INNER JOIN work AS child
        ON child.trace_no = below.trace_no AND child.parent_span_id = below.span_id
    WHERE below.next_row IS NULL
),
followed AS (
    SELECT attempt_row, max(next_row) AS next_row
    FROM below
    GROUP BY attempt_row
    HAVING max(next_row) IS NOT NULL
),
chains (attempt_row, last_row) AS (
    SELECT attempt_row, next_row FROM followed
    UNION
    SELECT chains.attempt_row, followed.next_row
    FROM chains
    INNER JOIN followed ON followed.attempt_row = chains.last_row
),
ended AS (
    SELECT chains.attempt_row, bool_and(work.status_code != 2) AS is_well
    FROM chains
    INNER JOIN work ON work.span_row = chains.last_row
    WHERE chains.last_row NOT IN (SELECT attempt_row FROM followed)
    GROUP BY chains.attempt_row
)
SELECT
    below.span_row,
    0 AS part,
    'retry' AS stage,
    work.name AS operation,
    CASE WHEN ended.is_well AND work.kind = 5 THEN 'gateway' END AS vantage,
    CASE WHEN ended.is_well AND work.kind = 5 THEN 'ok' END AS outcome
FROM below
INNER JOIN followed USING (attempt_row)
INNER JOIN ended USING (attempt_row)
INNER JOIN work ON work.span_row = below.span_row
WHERE below.next_row IS NULL
