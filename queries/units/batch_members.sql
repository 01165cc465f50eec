-- Which span belongs to which rank of which step, for the steps of one batch.
--
-- Made into the temporary table `batch_members`. Reads step_members, dirty_steps.
-- Parameters:
--   $batch_no: number of the batch.
-- Columns:
--   span_row: number of the span in base.spans.
--   step_no: dense number of the step.
--   rank, world_size: rank of the process and number of ranks, NULL where unknown.
--   member_no: dense number of the part of one trace of one rank in one step.
SELECT
    step_members.span_row,
    dirty_steps.step_no,
    step_members.rank,
    step_members.world_size,
    dense_rank() OVER (
        ORDER BY dirty_steps.step_no, step_members.rank, step_members.trace_id
    ) - 1 AS member_no
FROM step_members
INNER JOIN dirty_steps
    ON dirty_steps.job_id IS NOT DISTINCT FROM step_members.job_id
    AND dirty_steps.attempt = step_members.attempt
    AND dirty_steps.step = step_members.step
WHERE dirty_steps.batch_no = $batch_no
