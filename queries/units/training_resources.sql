-- Resources that are processes of a training job: those that name their job, attempt or rank.
--
-- Made into the temporary table `training_resources`.
-- Columns:
--   resource_id: the resource.
--   job_id: training job, NULL where the process does not name it.
--   attempt, rank: 0 where the process does not name them.
--   world_size: number of ranks, NULL where unknown.
SELECT
    resource_id,
    job_id,
    coalesce(attempt, 0) AS attempt,
    coalesce(rank, 0) AS rank,
    world_size
FROM base.resources
WHERE job_id IS NOT NULL OR attempt IS NOT NULL OR rank IS NOT NULL
