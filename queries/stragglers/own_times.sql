-- How long the ranks of training jobs worked in each step that is looked at, by stage.
--
-- Waiting for other ranks and the transfer of collectives are not a rank's own work. The first step of an attempt warms
-- up and steps that did not end well on every rank are cut short; neither is looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   rank: the rank.
--   role: its coordinate in the pipeline, '' where unknown: ranks of one role do the same work.
--   stage: the stage.
--   own_ns: exclusive time in nanoseconds.
WITH
roles AS (
    SELECT
        job_id,
        attempt,
        rank,
        any_value(attributes['tracekit.parallel.pp']::VARCHAR ORDER BY resource_id) AS role
    FROM base.resources
    WHERE job_id IS NOT NULL AND rank IS NOT NULL
    GROUP BY ALL
),
steps AS (
    SELECT
        units.unit_id,
        coalesce(units.job_id, '') AS job_id,
        coalesce(units.attempt, -1) AS attempt,
        units.step,
        units.rank,
        coalesce(roles.role, '') AS role
    FROM base.units
    LEFT JOIN roles
        ON roles.job_id = units.job_id
        AND roles.attempt IS NOT DISTINCT FROM units.attempt
        AND roles.rank = units.rank
    WHERE units.kind = 'step' AND ($job IS NULL OR units.job_id = $job)
    QUALIFY
        units.step > min(units.step) OVER (PARTITION BY units.job_id, units.attempt)
        AND bool_and(units.outcome = 'ok') OVER (PARTITION BY units.job_id, units.attempt, units.step)
)
SELECT
    steps.job_id,
    steps.attempt,
    steps.step,
    steps.rank,
    any_value(steps.role) AS role,
    unit_stages.stage,
    sum(unit_stages.self_ns)::BIGINT AS own_ns
FROM steps
INNER JOIN base.unit_stages USING (unit_id)
WHERE
    unit_stages.stage NOT IN (
        'step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble'
    )
    AND unit_stages.stage NOT LIKE 'unsplit(%'
GROUP BY steps.job_id, steps.attempt, steps.step, steps.rank, unit_stages.stage
ORDER BY steps.job_id, steps.attempt, steps.step, steps.rank, unit_stages.stage
