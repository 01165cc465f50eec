-- Where a rank's own work in a training step took far longer than its peers and other steps make it expect.
--
-- The reference of an operation is what it takes a typical rank of the same role (pipeline coordinate) in the job:
-- the median over ranks, the lower of two, of each rank's median over its steps. So a rank that is slow in every step
-- stands out even in a job of two. Slow means: above it by more than $spreads robust standard deviations (1.4826
-- times the median absolute deviation of a typical rank) and by more than $step_share of the job's median step time.
-- Waiting for other ranks and the transfer of collectives are not a rank's own work. The first step of an attempt
-- warms up and steps that did not end well on every rank are cut short; neither is looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
--   $spreads: robust standard deviations above the reference.
--   $step_share: share of the median step time above the reference.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   rank: the rank.
--   host: the host that it runs on, NULL where unknown.
--   pipeline_stage: its coordinate in the pipeline, NULL where unknown.
--   stage: the stage.
--   operation: name of the span that the time belongs to.
--   own_ns: exclusive time in nanoseconds.
--   reference_ns: the reference in nanoseconds.
--   excess_ns: time above the reference in nanoseconds.
--   rank_count: ranks that reported the step.
--   host_rank_count: those of them on the host.
--   stage_rank_count: those of them in the pipeline stage.
--   waited_ns: waiting time of the other ranks that was charged to this rank in this step, in nanoseconds.
WITH
steps AS (
    SELECT
        unit_id,
        job_id,
        attempt,
        step,
        rank,
        role,
        host_name AS host,
        end_ns - start_ns AS step_ns,
        count(*) OVER (PARTITION BY job_id, attempt, step) AS rank_count,
        count(*) OVER (PARTITION BY job_id, attempt, step, host_name) AS host_rank_count,
        count(*) OVER (PARTITION BY job_id, attempt, step, role) AS stage_rank_count
    FROM looked_at_steps
    WHERE $job IS NULL OR job_id = $job
),
jobs AS (
    SELECT
        job_id,
        quantile_disc(step_ns, 0.5) AS median_step_ns
    FROM steps
    GROUP BY job_id
),
own AS (
    SELECT
        steps.job_id,
        steps.attempt,
        steps.step,
        steps.rank,
        steps.role,
        steps.host,
        steps.rank_count,
        steps.host_rank_count,
        steps.stage_rank_count,
        unit_stages.stage,
        unit_stages.operation,
        sum(unit_stages.self_ns)::BIGINT AS own_ns
    FROM steps
    INNER JOIN base.unit_stages USING (unit_id)
    WHERE
        unit_stages.stage NOT IN (
            'step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble'
        )
        AND unit_stages.stage NOT LIKE 'unsplit(%'
    GROUP BY ALL
),
rank_times AS (
    -- A rank that did not do what another of its role did in the same step spent no time on it.
    SELECT
        steps.job_id,
        steps.role,
        done.stage,
        done.operation,
        steps.rank,
        quantile_disc(coalesce(own.own_ns, 0), 0.5) AS median_ns,
        mad(coalesce(own.own_ns, 0)) AS deviation_ns
    FROM steps
    INNER JOIN (SELECT DISTINCT job_id, attempt, step, role, stage, operation FROM own) AS done
        USING (job_id, attempt, step, role)
    LEFT JOIN own USING (job_id, attempt, step, role, rank, stage, operation)
    GROUP BY ALL
),
peers AS (
    SELECT
        job_id,
        role,
        stage,
        operation,
        quantile_disc(median_ns, 0.5) AS reference_ns,
        quantile_disc(deviation_ns, 0.5) AS deviation_ns
    FROM rank_times
    GROUP BY ALL
),
waits AS (
    SELECT
        coalesce(units.job_id, '') AS job_id,
        coalesce(units.attempt, -1) AS attempt,
        units.step,
        step_waits.culprit_rank AS rank,
        sum(step_waits.wait_ns)::BIGINT AS waited_ns
    FROM base.step_waits
    INNER JOIN base.units USING (unit_id)
    WHERE units.kind = 'step' AND units.outcome = 'ok'
    GROUP BY ALL
)
SELECT
    own.job_id,
    own.attempt,
    own.step,
    own.rank,
    own.host,
    TRY_CAST(own.role AS BIGINT) AS pipeline_stage,
    own.stage,
    own.operation,
    own.own_ns,
    peers.reference_ns,
    own.own_ns - peers.reference_ns AS excess_ns,
    own.rank_count,
    own.host_rank_count,
    own.stage_rank_count,
    coalesce(waits.waited_ns, 0) AS waited_ns
FROM own
INNER JOIN peers USING (job_id, role, stage, operation)
INNER JOIN jobs USING (job_id)
LEFT JOIN waits USING (job_id, attempt, step, rank)
WHERE
    own.own_ns - peers.reference_ns > $spreads * 1.4826 * peers.deviation_ns
    AND own.own_ns - peers.reference_ns > $step_share * jobs.median_step_ns
ORDER BY own.job_id, own.attempt, own.step, own.rank, own.stage, own.operation
