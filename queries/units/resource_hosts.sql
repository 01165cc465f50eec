-- Hosts as numbers: whose clock wrote the times of a resource.
--
-- A resource without a host name is told by what else runs on one clock: its instance, pod, container or node,
-- else its service. A name counts within the attribute that gives it.
--
-- Columns:
--   resource_id: the resource.
--   host: number of its host, -1 where the resource names nothing.
WITH
named AS (
    SELECT
        resource_id,
        CASE
            WHEN host_name IS NOT NULL THEN 'host.name ' || host_name
            WHEN attributes['k8s.node.name'] IS NOT NULL THEN 'k8s.node.name ' || attributes['k8s.node.name']::VARCHAR
            WHEN attributes['k8s.pod.name'] IS NOT NULL THEN 'k8s.pod.name ' || attributes['k8s.pod.name']::VARCHAR
            WHEN attributes['container.id'] IS NOT NULL THEN 'container.id ' || attributes['container.id']::VARCHAR
            WHEN attributes['service.instance.id'] IS NOT NULL
                THEN 'service.instance.id ' || attributes['service.instance.id']::VARCHAR
            WHEN service_name IS NOT NULL THEN 'service.name ' || service_name
        END AS host
    FROM base.resources
)
SELECT
    resource_id,
    CASE WHEN host IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY host) END AS host
FROM named
ORDER BY resource_id
