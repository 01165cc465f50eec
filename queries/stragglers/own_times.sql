-- How long the ranks of training jobs worked in each step that is looked at, and between it and the step before, by
-- stage and operation.
--
-- Waiting for other ranks and the transfer of collectives are not a rank's own work. Nor is what all ranks do between
-- two steps, as long as the fastest: nobody waits for it. Time in a save that all ranks leave together is work of the
-- rank that saves.
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
--   operation: name of the span that the time belongs to.
--   own_ns: exclusive time in nanoseconds.
WITH
steps AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY job_id, attempt, step) AS rank_count
    FROM looked_at_steps
    WHERE $job IS NULL OR job_id = $job
),
inside AS (
    SELECT
        unit_id,
        stage,
        operation,
        self_ns AS own_ns
    FROM base.unit_stages
),
led_in AS (
    SELECT
        steps.unit_id,
        step_lead_ins.stage,
        step_lead_ins.operation,
        step_lead_ins.self_ns - CASE
            WHEN count(*) OVER same_work = steps.rank_count THEN min(step_lead_ins.self_ns) OVER same_work
            ELSE 0
        END AS own_ns
    FROM steps
    INNER JOIN base.step_lead_ins USING (unit_id)
    WINDOW same_work AS (
        PARTITION BY steps.job_id, steps.attempt, steps.step, step_lead_ins.stage, step_lead_ins.operation
    )
),
saves AS (
    SELECT
        unit_id,
        stage,
        min(operation) AS operation
    FROM (FROM inside UNION ALL FROM led_in) AS work
    WHERE stage = 'job.checkpoint_save'
    GROUP BY unit_id, stage
),
shared AS (
    SELECT
        step_waits.unit_id,
        saves.stage,
        saves.operation,
        -sum(step_waits.wait_ns)::BIGINT AS own_ns
    FROM base.step_waits
    INNER JOIN saves USING (unit_id)
    WHERE step_waits.basis = 'common_end'
    GROUP BY ALL
),
work AS (
    FROM inside
    UNION ALL
    FROM led_in
    UNION ALL
    FROM shared
)
SELECT
    steps.job_id,
    steps.attempt,
    steps.step,
    steps.rank,
    steps.role,
    work.stage,
    work.operation,
    sum(work.own_ns)::BIGINT AS own_ns
FROM steps
INNER JOIN work USING (unit_id)
WHERE
    work.stage NOT IN ('step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble')
    AND work.stage NOT LIKE 'unsplit(%'
GROUP BY ALL
ORDER BY ALL
