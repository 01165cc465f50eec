-- Which step each span of a training job belongs to: the one that it names, else the one that the
-- nearest span above it names. Spans that do neither belong to no step.
--
-- Made into the temporary table `step_members`. Reads training_spans.
-- Columns:
--   span_row, trace_id, start_ns, job_id, attempt, rank, world_size, is_late: as in
--     training_spans.
--   step: number of the step.
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
)
SELECT
    training_spans.span_row,
    training_spans.trace_id,
    training_spans.start_ns,
    training_spans.job_id,
    training_spans.attempt,
    training_spans.rank,
    training_spans.world_size,
    training_spans.is_late,
    coalesce(training_spans.own_step, inherited.step) AS step
FROM training_spans
LEFT JOIN inherited USING (span_row)
WHERE NOT training_spans.is_job_level
    AND coalesce(training_spans.own_step, inherited.step) IS NOT NULL
