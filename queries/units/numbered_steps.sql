-- All steps of the attempts of training jobs that have spans which are not in the units yet, numbered in order.
--
-- A step is made anew where the one before it has new spans, too: it may have waited for what a rank did then.
--
-- Made into the temporary table `numbered_steps`. Reads step_members.
-- Columns:
--   job_id, attempt, step: the step.
--   step_no: dense number of the step.
--   previous_no: number of the step before it in its attempt, NULL for the first.
--   first_ns, last_ns: earliest and latest start of its spans, nanoseconds since the epoch.
--   span_count: number of its spans.
--   is_dirty: whether it is to be made anew.
WITH
steps AS (
    SELECT
        job_id,
        attempt,
        step,
        min(start_ns) AS first_ns,
        max(start_ns) AS last_ns,
        count(*) AS span_count,
        bool_or(is_late) AS is_late
    FROM step_members
    GROUP BY job_id, attempt, step
),
numbered AS (
    SELECT
        *,
        row_number() OVER (ORDER BY job_id, attempt, step) - 1 AS step_no,
        lag(is_late) OVER (PARTITION BY job_id, attempt ORDER BY step) AS is_previous_late
    FROM steps
)
SELECT
    job_id,
    attempt,
    step,
    step_no,
    CASE WHEN is_previous_late IS NOT NULL THEN step_no - 1 END AS previous_no,
    first_ns,
    last_ns,
    span_count,
    is_late OR coalesce(is_previous_late, FALSE) AS is_dirty
FROM numbered
