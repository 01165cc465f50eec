-- What is wrong with training steps and metric streams, one row a check.
--
-- Columns:
--   check_name: code of the check.
--   finding_count: steps or metric streams where it fails.
--   total_count: all steps whose world size is known, or all metric streams that accumulate.
WITH
worlds AS (
    SELECT
        job_id,
        attempt,
        max(world_size) AS world_size
    FROM base.resources
    WHERE job_id IS NOT NULL AND world_size IS NOT NULL
    GROUP BY ALL
),
steps AS (
    SELECT
        units.job_id,
        units.attempt,
        units.step,
        count(DISTINCT units.rank) < any_value(worlds.world_size) AS has_missing_ranks
    FROM base.units
    INNER JOIN worlds USING (job_id, attempt)
    WHERE units.kind = 'step'
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
