-- The ranks of training steps of one number.
--
-- Parameters:
--   $job_id: the training job, NULL for any.
--   $attempt: attempt of the job, NULL for any.
--   $step: number of the step.
-- Columns:
--   job_id: the training job, NULL where it did not say.
--   attempt: attempt of the job.
--   trace_id: trace that the rank's part is in, hexadecimal.
--   start_ns: start of the rank's part, nanoseconds since the epoch.
--   end_ns: its end.
SELECT
    job_id,
    attempt,
    trace_id,
    start_ns,
    end_ns
FROM units
WHERE
    kind = 'step'
    AND step = $step
    AND ($job_id::VARCHAR IS NULL OR job_id = $job_id)
    AND ($attempt::INTEGER IS NULL OR attempt = $attempt)
ORDER BY job_id, attempt, trace_id, start_ns
