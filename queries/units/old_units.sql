-- Units that are made anew, because their trace or their step has new spans.
--
-- Reads dirty_traces, request_batches, dirty_steps.
-- Columns:
--   unit_id: the unit.
--   kind: request or step, NULL where no unit takes its place.
--   batch_no: number of the batch of that kind which takes its place, NULL for none.
SELECT
    units.unit_id,
    CASE WHEN request_batches.batch_no IS NOT NULL THEN 'request' END AS kind,
    request_batches.batch_no
FROM base.units
SEMI JOIN dirty_traces USING (trace_id)
LEFT JOIN request_batches USING (trace_id)
WHERE units.kind = 'request'
UNION ALL
SELECT
    units.unit_id,
    units.kind,
    dirty_steps.batch_no
FROM base.units
INNER JOIN dirty_steps
    ON dirty_steps.job_id IS NOT DISTINCT FROM units.job_id
    AND dirty_steps.attempt = units.attempt
    AND dirty_steps.step = units.step
WHERE units.kind = 'step'
