-- What is wrong with training steps and metric streams, one row a check.
--
-- Columns:
--   check_name: code of the check.
--   finding_count: steps or metric streams where it fails.
--   total_count: all steps whose world size is known, or all metric streams that accumulate.
WITH
steps AS (
    SELECT
        training_steps.job_id,
        training_steps.attempt,
        training_steps.step,
        count(DISTINCT training_steps.rank) < any_value(training_worlds.world_size) AS has_missing_ranks
    FROM training_steps
    INNER JOIN training_worlds USING (job_id, attempt)
    GROUP BY ALL
)
SELECT
    'missing_ranks' AS check_name,
    count(*) FILTER (WHERE has_missing_ranks) AS finding_count,
    count(*) AS total_count
FROM steps
UNION ALL
SELECT
    'unspecified_temporality',
    count(*) FILTER (WHERE temporality = 0),
    count(*)
FROM base.metric_streams
WHERE temporality IS NOT NULL
ORDER BY check_name
