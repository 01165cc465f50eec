-- How long the other ranks of training jobs waited for each rank, in the steps that are looked at.
--
-- The first step of an attempt and steps that did not end well on every rank are not looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   rank: the rank that was waited for.
--   waited_ns: waiting time of the other ranks in nanoseconds.
WITH
steps AS (
    SELECT
        units.unit_id,
        coalesce(units.job_id, '') AS job_id
    FROM base.units
    WHERE units.kind = 'step' AND ($job IS NULL OR units.job_id = $job)
    QUALIFY
        units.step > min(units.step) OVER (PARTITION BY units.job_id, units.attempt)
        AND bool_and(units.outcome = 'ok') OVER (PARTITION BY units.job_id, units.attempt, units.step)
)
SELECT
    steps.job_id,
    step_waits.culprit_rank AS rank,
    sum(step_waits.wait_ns)::BIGINT AS waited_ns
FROM steps
INNER JOIN base.step_waits USING (unit_id)
GROUP BY ALL
ORDER BY waited_ns DESC, steps.job_id, rank
