-- What the process that served each request says of itself.
--
-- Reads goodput_servers, made by `servers.sql`.
-- Parameters:
--   $what: host or version.
-- Columns:
--   unit_id: the request.
--   value: host name (of a process without one its instance), or version of the service; NULL where it is not told.
SELECT
    goodput_servers.unit_id,
    CASE $what
        WHEN 'host' THEN coalesce(
            resources.host_name,
            resources.attributes['k8s.node.name']::VARCHAR,
            resources.service_instance_id,
            resources.attributes['k8s.pod.name']::VARCHAR
        )
        ELSE resources.attributes['service.version']::VARCHAR
    END AS value
FROM goodput_servers
INNER JOIN base.resources AS resources USING (resource_id)
