-- The slowest units, to begin with when no trace is known.
--
-- Parameters:
--   $kind: request or step.
--   $limit: number of units at most.
-- Columns:
--   trace_id: trace of the unit, hexadecimal.
--   service_name: service of the unit.
--   name: name of the unit.
--   job_id: training job, NULL for requests.
--   attempt: attempt of the job.
--   step: number of the step.
--   rank: rank of the step.
--   outcome: how it ended.
--   e2e_ns: its duration in nanoseconds.
SELECT
    trace_id,
    service_name,
    name,
    job_id,
    attempt,
    step,
    rank,
    outcome,
    e2e_ns
FROM units
WHERE kind = $kind
ORDER BY e2e_ns DESC, unit_id
LIMIT $limit
