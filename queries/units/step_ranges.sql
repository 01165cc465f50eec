-- The batches of training steps and the range of time in which their spans start, those of the step before each
-- included.
--
-- Reads dirty_steps, numbered_steps.
-- Columns:
--   batch_no: number of the batch.
--   first_ns, last_ns: earliest and latest start of its spans, nanoseconds since the epoch.
SELECT
    dirty_steps.batch_no,
    min(least(dirty_steps.first_ns, previous.first_ns)) AS first_ns,
    max(greatest(dirty_steps.last_ns, previous.last_ns)) AS last_ns
FROM dirty_steps
LEFT JOIN numbered_steps AS previous ON previous.step_no = dirty_steps.previous_no
GROUP BY dirty_steps.batch_no
ORDER BY dirty_steps.batch_no
