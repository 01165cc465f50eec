-- Hosts as numbers.
--
-- Columns:
--   resource_id: the resource.
--   host: number of its host name, -1 where the resource does not name it.
SELECT
    resource_id,
    CASE WHEN host_name IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY host_name) END AS host
FROM base.resources
ORDER BY resource_id
