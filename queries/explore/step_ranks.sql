-- The ranks of one training step, each with its part of it.
--
-- Parameters:
--   $job_id: the training job, NULL where it did not say.
--   $attempt: attempt of the job, NULL where it did not say.
--   $step: number of the step.
-- Columns:
--   rank: rank in the job.
--   host_name: host of the rank, NULL where it did not say.
--   trace_id: trace that the step span is in, hexadecimal.
--   root_span_id: the step span, hexadecimal.
--   start_ns: start of the rank's part, nanoseconds since the epoch.
--   end_ns: its end.
--   outcome: how it ended.
SELECT
    units.rank,
    training_ranks.host_name,
    units.trace_id,
    units.root_span_id,
    units.start_ns,
    units.end_ns,
    units.outcome
FROM units
LEFT JOIN training_ranks
    ON training_ranks.rank = units.rank
    AND training_ranks.job_id = coalesce(units.job_id, '')
    AND training_ranks.attempt = coalesce(units.attempt, -1)
WHERE
    units.kind = 'step'
    AND units.job_id IS NOT DISTINCT FROM $job_id
    AND units.attempt IS NOT DISTINCT FROM $attempt
    AND units.step = $step
ORDER BY units.rank, units.start_ns, units.root_span_id
