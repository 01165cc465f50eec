-- The ranks of one training step, each with its part of it.
--
-- Parameters:
--   $job_id: the training job.
--   $attempt: attempt of the job.
--   $step: number of the step.
-- Columns:
--   rank: rank in the job.
--   host_name: host of the rank, NULL where it did not say.
--   trace_id: trace that the step span is in, hexadecimal.
--   root_span_id: the step span, hexadecimal.
--   start_ns: start of the rank's part, nanoseconds since the epoch.
--   end_ns: its end.
--   outcome: how it ended.
WITH
hosts AS (
    SELECT
        job_id,
        attempt,
        rank,
        any_value(host_name) AS host_name
    FROM base.resources
    GROUP BY job_id, attempt, rank
)
SELECT
    units.rank,
    hosts.host_name,
    units.trace_id,
    units.root_span_id,
    units.start_ns,
    units.end_ns,
    units.outcome
FROM units
LEFT JOIN hosts
    ON hosts.job_id = units.job_id AND hosts.attempt = units.attempt AND hosts.rank = units.rank
WHERE
    units.kind = 'step'
    AND units.job_id = $job_id
    AND units.attempt = $attempt
    AND units.step = $step
ORDER BY units.rank, units.start_ns, units.root_span_id
