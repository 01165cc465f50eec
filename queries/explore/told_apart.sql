-- What the services that sent spans can be told apart by: versions and hosts of each service that has several.
--
-- Columns:
--   side: how `tracekit compare` names it, `version:V` or `host:H`.
--   kind: version or host.
--   service_name: the service.
WITH
described AS (
    SELECT DISTINCT
        service_name,
        host_name,
        attributes['service.version']::VARCHAR AS version
    FROM base.resources
    WHERE job_id IS NULL
),
listed AS (
    SELECT 'version' AS kind, service_name, version AS value
    FROM described
    UNION
    SELECT 'host' AS kind, service_name, host_name AS value
    FROM described
)
SELECT
    kind || ':' || value AS side,
    kind,
    service_name
FROM listed
WHERE value IS NOT NULL
QUALIFY count(*) OVER (PARTITION BY kind, service_name) > 1
ORDER BY kind DESC, service_name, value
