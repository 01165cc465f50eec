-- Which step each span of a training job belongs to: the one that it names, else the one that the
-- nearest span above it names. What does neither and is no span of the job's level is work between
-- two steps: it leads into the rank's next step, unless it goes on until that step has ended, as
-- the span of an epoch does; then, and after the last step, it belongs to no step.
--
-- Made into the temporary table `step_members`. Reads training_spans.
-- Columns:
--   span_row, trace_id, start_ns, job_id, attempt, rank, world_size, host, is_sharded, is_late: as in
--     training_spans.
--   step: number of the step.
--   is_between: whether it is work between two steps that leads into this one.
WITH RECURSIVE
climb AS (
    SELECT
        span_row,
        trace_id,
        parent_span_id AS above_id
    FROM training_spans
    WHERE own_step IS NULL AND NOT is_job_level AND parent_span_id IS NOT NULL
    -- UNION, not UNION ALL: a cycle of parents ends where it began.
    UNION
    SELECT
        climb.span_row,
        climb.trace_id,
        above.parent_span_id AS above_id
    FROM climb
    INNER JOIN training_spans AS above
        ON above.trace_id = climb.trace_id AND above.span_id = climb.above_id
    WHERE above.own_step IS NULL AND NOT above.is_job_level AND above.parent_span_id IS NOT NULL
),
inherited AS (
    SELECT
        climb.span_row,
        above.own_step AS step
    FROM climb
    INNER JOIN training_spans AS above
        ON above.trace_id = climb.trace_id AND above.span_id = climb.above_id
    WHERE above.own_step IS NOT NULL AND NOT above.is_job_level
),
placed AS (
    SELECT
        training_spans.*,
        coalesce(training_spans.job_id, '') AS job,
        coalesce(training_spans.own_step, inherited.step) AS step
    FROM training_spans
    LEFT JOIN inherited USING (span_row)
    WHERE NOT training_spans.is_job_level
),
step_starts AS (
    SELECT
        coalesce(job_id, '') AS job,
        attempt,
        rank,
        own_step AS next_step,
        start_ns AS next_start_ns,
        end_ns AS next_end_ns
    FROM training_spans
    WHERE is_step AND own_step IS NOT NULL AND NOT is_job_level
),
between_steps AS (
    SELECT
        placed.span_row,
        step_starts.next_step
    FROM (FROM placed WHERE step IS NULL) AS placed
    ASOF INNER JOIN step_starts
        ON placed.job = step_starts.job
        AND placed.attempt = step_starts.attempt
        AND placed.rank = step_starts.rank
        AND placed.start_ns <= step_starts.next_start_ns
    WHERE placed.end_ns < step_starts.next_end_ns
)
SELECT
    placed.span_row,
    placed.trace_id,
    placed.start_ns,
    placed.job_id,
    placed.attempt,
    placed.rank,
    placed.world_size,
    placed.host,
    placed.is_sharded,
    placed.is_late,
    coalesce(placed.step, between_steps.next_step) AS step,
    placed.step IS NULL AS is_between
FROM placed
LEFT JOIN between_steps USING (span_row)
WHERE coalesce(placed.step, between_steps.next_step) IS NOT NULL
