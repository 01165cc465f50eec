-- Steps that are to be made anew, in batches that fit the memory.
--
-- Made into the temporary table `dirty_steps`. Reads numbered_steps.
-- Parameters:
--   $batch_spans: spans that a batch may have; one step with more is a batch of its own.
-- Columns:
--   job_id, attempt, step, step_no, previous_no, first_ns, last_ns: as in numbered_steps.
--   batch_no: number of the batch, ascending with step_no.
SELECT
    job_id,
    attempt,
    step,
    step_no,
    previous_no,
    first_ns,
    last_ns,
    ((sum(span_count) OVER (ORDER BY step_no) - 1) // $batch_spans)::BIGINT AS batch_no
FROM numbered_steps
WHERE is_dirty
