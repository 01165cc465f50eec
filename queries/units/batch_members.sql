-- Which span belongs to which rank of which step, for the steps of one batch and the step before each.
--
-- Made into the temporary table `batch_members`. Reads step_members, dirty_steps, numbered_steps.
-- Parameters:
--   $batch_no: number of the batch.
-- Columns:
--   span_row: number of the span in base.spans.
--   step: number of the step in its job.
--   step_no: dense number of the step.
--   previous_no: that of the step before it in its attempt, NULL where that one is not in the batch.
--   is_context: whether the step is there only because the next one may have waited for what a rank did in it.
--   rank, world_size: rank of the process and number of ranks, NULL where unknown.
--   host, is_sharded: as in training_resources.
--   is_between: as in step_members.
--   member_no: dense number of the part of one trace of one rank in one step.
WITH
own AS (
    SELECT
        job_id,
        attempt,
        step,
        step_no,
        previous_no,
        FALSE AS is_context
    FROM dirty_steps
    WHERE batch_no = $batch_no
),
steps AS (
    FROM own
    UNION ALL
    SELECT
        job_id,
        attempt,
        step,
        step_no,
        NULL AS previous_no,
        TRUE AS is_context
    FROM numbered_steps
    WHERE step_no IN (SELECT previous_no FROM own) AND step_no NOT IN (SELECT step_no FROM own)
)
SELECT
    step_members.span_row,
    steps.step,
    steps.step_no,
    steps.previous_no,
    steps.is_context,
    step_members.rank,
    step_members.world_size,
    step_members.host,
    step_members.is_sharded,
    step_members.is_between,
    dense_rank() OVER (
        ORDER BY steps.step_no, step_members.rank, step_members.trace_id
    ) - 1 AS member_no
FROM step_members
INNER JOIN steps
    ON steps.job_id IS NOT DISTINCT FROM step_members.job_id
    AND steps.attempt = step_members.attempt
    AND steps.step = step_members.step
