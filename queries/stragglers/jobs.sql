-- How long the steps of every training job took, and how long its ranks waited for each other.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt_count: attempts with steps.
--   rank_count: largest number of ranks that reported one step.
--   step_count: steps that are looked at, each of its attempt counted.
--   warm_up_count: first steps of attempts, which are not looked at.
--   failed_count: steps that did not end well on every rank, which are not looked at.
--   median_step_ns: median duration of a step, from its first rank's start to its last rank's end on one
--     clock, in nanoseconds.
--   mean_step_ns: mean duration of a step, in nanoseconds.
--   wall_ns: durations of all ranks in these steps and of what led into them beyond what all ranks did alike, summed,
--     in nanoseconds.
--   waited_ns: time in which ranks waited for others, in nanoseconds.
WITH
steps AS (
    SELECT
        training_steps.job_id,
        training_steps.attempt,
        training_steps.step,
        training_steps.is_warm_up,
        training_steps.is_ok,
        count(DISTINCT training_steps.rank) AS rank_count,
        max(training_steps.end_ns + units.shift_ns) - min(training_steps.start_ns + units.shift_ns) AS step_ns,
        sum(step_times.step_ns + step_times.lead_in_ns) AS wall_ns,
        sum(step_times.waited_ns) AS waited_ns
    FROM training_steps
    INNER JOIN step_times USING (unit_id)
    INNER JOIN base.units USING (unit_id)
    WHERE $job IS NULL OR training_steps.job_id = $job
    GROUP BY ALL
)
SELECT
    job_id,
    count(DISTINCT attempt) AS attempt_count,
    max(rank_count) AS rank_count,
    count(*) FILTER (WHERE is_ok AND NOT is_warm_up) AS step_count,
    count(*) FILTER (WHERE is_warm_up) AS warm_up_count,
    count(*) FILTER (WHERE NOT is_ok AND NOT is_warm_up) AS failed_count,
    quantile_disc(step_ns, 0.5) FILTER (WHERE is_ok AND NOT is_warm_up) AS median_step_ns,
    (avg(step_ns) FILTER (WHERE is_ok AND NOT is_warm_up))::BIGINT AS mean_step_ns,
    coalesce(sum(wall_ns) FILTER (WHERE is_ok AND NOT is_warm_up), 0)::BIGINT AS wall_ns,
    coalesce(sum(waited_ns) FILTER (WHERE is_ok AND NOT is_warm_up), 0)::BIGINT AS waited_ns
FROM steps
GROUP BY job_id
ORDER BY job_id
