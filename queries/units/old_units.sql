-- Units that are made anew, because their trace or their step has new spans.
--
-- Made into the temporary table `old_units`. Reads dirty_traces, dirty_steps.
-- Columns:
--   unit_id: the unit.
SELECT unit_id
FROM base.units
SEMI JOIN dirty_traces USING (trace_id)
WHERE kind = 'request'
UNION ALL
SELECT unit_id
FROM base.units
SEMI JOIN dirty_steps
    ON dirty_steps.job_id IS NOT DISTINCT FROM units.job_id
    AND dirty_steps.attempt = units.attempt
    AND dirty_steps.step = units.step
WHERE kind = 'step'
