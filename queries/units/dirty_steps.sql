-- Steps that have spans which are not in the units yet, in batches that fit the memory.
--
-- Made into the temporary table `dirty_steps`. Reads step_members.
-- Parameters:
--   $batch_spans: spans that a batch may have; one step with more is a batch of its own.
-- Columns:
--   job_id, attempt, step: the step.
--   first_ns, last_ns: earliest and latest start of its spans, nanoseconds since the epoch.
--   step_no: dense number of the step.
--   batch_no: number of the batch, ascending with step_no.
WITH
late AS (
    SELECT
        job_id,
        attempt,
        step,
        min(start_ns) AS first_ns,
        max(start_ns) AS last_ns,
        count(*) AS span_count
    FROM step_members
    GROUP BY job_id, attempt, step
    HAVING bool_or(is_late)
)
SELECT
    job_id,
    attempt,
    step,
    first_ns,
    last_ns,
    row_number() OVER (ORDER BY job_id, attempt, step) - 1 AS step_no,
    (
        (sum(span_count) OVER (ORDER BY job_id, attempt, step) - 1) // $batch_spans
    )::BIGINT AS batch_no
FROM late
