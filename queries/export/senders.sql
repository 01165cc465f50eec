-- Who sends anything, with what tells one process from another.
--
-- Columns:
--   resource_id: the sender.
--   service_name: its service, NULL where it gave none.
--   host_name: its host, else its instance, NULL where it gave neither.
--   rank: rank in its training job, NULL for others.
--   attributes_json: attributes of the sender as a JSON object.
SELECT
    resource_id,
    service_name,
    coalesce(host_name, service_instance_id) AS host_name,
    rank,
    coalesce(attributes::JSON::VARCHAR, '{}') AS attributes_json
FROM base.resources
ORDER BY service_name, host_name, rank, resource_id
