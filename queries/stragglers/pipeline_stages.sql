-- How long the pipeline stages of training jobs compute in a typical step, beside each other.
--
-- A stage that computes longer than the others in every step makes all of them wait, and no rank of it is slower than
-- its peers. The first step of an attempt and steps that did not end well on every rank are not looked at.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   pipeline_stage: coordinate in the pipeline.
--   rank_count: ranks of the stage.
--   host: the host that runs all its ranks and no others, NULL where there is none.
--   compute_ns: median over ranks, the lower of two, of each rank's median exclusive time in step.compute a step, in
--     nanoseconds.
--   typical_ns: the same over the stages of the job, in nanoseconds.
--   median_step_ns: median duration of a rank's step in the job, in nanoseconds.
--   waited_ns: waiting time of other ranks for those of the stage, in nanoseconds.
WITH
steps AS (
    SELECT
        unit_id,
        job_id,
        rank,
        pipeline_stage,
        host_name,
        end_ns - start_ns AS step_ns
    FROM looked_at_steps
    WHERE $job IS NULL OR job_id = $job
),
computed AS (
    SELECT
        unit_id,
        sum(self_ns)::BIGINT AS compute_ns
    FROM base.unit_stages
    WHERE stage = 'step.compute'
    GROUP BY unit_id
),
ranks AS (
    SELECT
        steps.job_id,
        steps.pipeline_stage,
        steps.rank,
        quantile_disc(coalesce(computed.compute_ns, 0), 0.5) AS compute_ns
    FROM steps
    LEFT JOIN computed USING (unit_id)
    WHERE steps.pipeline_stage IS NOT NULL
    GROUP BY ALL
),
waits AS (
    SELECT
        steps.job_id,
        step_waits.culprit_rank AS rank,
        sum(step_waits.wait_ns)::BIGINT AS waited_ns
    FROM steps
    INNER JOIN base.step_waits USING (unit_id)
    GROUP BY ALL
),
jobs AS (
    SELECT
        job_id,
        quantile_disc(step_ns, 0.5) AS median_step_ns
    FROM steps
    GROUP BY job_id
),
hosts AS (
    SELECT
        job_id,
        host_name,
        min(pipeline_stage) AS pipeline_stage,
        count(DISTINCT rank) AS rank_count
    FROM steps
    WHERE host_name IS NOT NULL
    GROUP BY job_id, host_name
    HAVING count(DISTINCT coalesce(pipeline_stage, -1)) = 1
),
stages AS (
    SELECT
        ranks.job_id,
        ranks.pipeline_stage,
        count(*) AS rank_count,
        quantile_disc(ranks.compute_ns, 0.5) AS compute_ns,
        coalesce(sum(waits.waited_ns), 0)::BIGINT AS waited_ns
    FROM ranks
    LEFT JOIN waits USING (job_id, rank)
    GROUP BY ALL
)
SELECT
    stages.job_id,
    stages.pipeline_stage,
    stages.rank_count,
    hosts.host_name AS host,
    stages.compute_ns,
    quantile_disc(stages.compute_ns, 0.5) OVER (PARTITION BY stages.job_id) AS typical_ns,
    jobs.median_step_ns,
    stages.waited_ns
FROM stages
INNER JOIN jobs USING (job_id)
LEFT JOIN hosts
    ON stages.job_id = hosts.job_id
    AND stages.pipeline_stage = hosts.pipeline_stage
    AND stages.rank_count = hosts.rank_count
ORDER BY stages.job_id, stages.pipeline_stage
