-- The units (requests, steps) that were made of one trace.
--
-- Parameters:
--   $trace_id: the trace, 32 hexadecimal digits.
--   $limit: number of units at most.
-- Columns:
--   kind: request or step.
--   name: name of the unit.
--   job_id: training job, NULL for requests.
--   attempt: attempt of the job.
--   step: number of the step.
--   rank: rank of the step.
--   outcome: how it ended.
--   start_ns: start, nanoseconds since the epoch.
--   e2e_ns: its duration in nanoseconds.
--   ttft_ns: time to its first token in nanoseconds, NULL where none is known.
--   input_tokens: prompt tokens.
--   output_tokens: generated tokens.
--   vantage: where its times were seen.
--   flags: what is odd about it, as short words, NULL for nothing.
--   unit_count: number of units of the trace altogether.
SELECT
    units.kind,
    units.name,
    units.job_id,
    units.attempt,
    units.step,
    units.rank,
    units.outcome,
    units.start_ns,
    units.e2e_ns,
    units.ttft_ns,
    units.input_tokens,
    units.output_tokens,
    units.vantage,
    units.flags,
    count(*) OVER () AS unit_count
FROM units
WHERE units.unit_id IN (SELECT unit_id FROM base.units WHERE trace_id = $trace_id::UUID)
ORDER BY units.start_ns, units.unit_id
LIMIT $limit
