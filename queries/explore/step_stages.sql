-- Where the time of each rank went in one training step.
--
-- Parameters:
--   $job_id: the training job, NULL where it did not say.
--   $attempt: attempt of the job, NULL where it did not say.
--   $step: number of the step.
-- Columns:
--   rank: rank in the job.
--   stage: the stage.
--   self_ns: exclusive time of the rank in the stage, in nanoseconds; a rank's stages sum to its step.
SELECT
    units.rank,
    unit_stages.stage,
    sum(unit_stages.self_ns)::BIGINT AS self_ns
FROM units
INNER JOIN unit_stages USING (unit_id)
WHERE
    units.kind = 'step'
    AND units.job_id IS NOT DISTINCT FROM $job_id
    AND units.attempt IS NOT DISTINCT FROM $attempt
    AND units.step = $step
GROUP BY units.rank, unit_stages.stage
ORDER BY units.rank, unit_stages.stage
