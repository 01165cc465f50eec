-- Where the time of each rank's part of each step of a job went; of steps that name no job, too: whose they are is
-- known by their spans.
--
-- Parameters:
--   $job: the job.
-- Columns:
--   span_id: id of the step's span, as a number.
--   stage: stage code.
--   self_ns: exclusive time, nanoseconds; over the stages of a span they sum to its duration.
SELECT
    units.root_span_id AS span_id,
    unit_stages.stage,
    sum(unit_stages.self_ns)::BIGINT AS self_ns
FROM base.units
INNER JOIN base.unit_stages USING (unit_id)
WHERE units.kind = 'step' AND (units.job_id IS NULL OR units.job_id = $job)
GROUP BY units.root_span_id, unit_stages.stage
