-- Resources that are processes of a training job: those that name their job, attempt or rank.
--
-- Made into the temporary table `training_resources`.
-- Columns:
--   resource_id: the resource.
--   job_id: training job, NULL where the process does not name it.
--   attempt, rank: 0 where the process does not name them.
--   world_size: number of ranks, NULL where unknown.
--   host: number that stands for its host, NULL where unknown.
--   is_sharded: whether it holds a part of the model that other ranks do not.
SELECT
    resource_id,
    job_id,
    coalesce(attempt, 0) AS attempt,
    coalesce(rank, 0) AS rank,
    world_size,
    hash(host_name) AS host,
    coalesce(
        TRY_CAST(attributes['tracekit.parallel.tp'] AS BIGINT) > 0
        OR TRY_CAST(attributes['tracekit.parallel.pp'] AS BIGINT) > 0
        OR TRY_CAST(attributes['tracekit.parallel.ep'] AS BIGINT) > 0,
        FALSE
    ) AS is_sharded
FROM base.resources
WHERE job_id IS NOT NULL OR attempt IS NOT NULL OR rank IS NOT NULL
