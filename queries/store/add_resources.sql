-- Gives every incoming resource its number in this store, adding those that are new.
--
-- A resource is identified by its whole content, in whatever order its attributes came. The input is the
-- registered table `incoming_resources`: `row`, `attributes` (JSON text), `dropped_attributes_count`,
-- `schema_url`, `entity_refs` (JSON text).
--
-- Columns:
--   row: position of the incoming resource.
--   resource_id: number of that resource in base.resources.
CREATE OR REPLACE TEMP TABLE identified_resources AS
WITH
typed AS (
    SELECT
        row,
        attributes::JSON::VARIANT AS attributes,
        dropped_attributes_count,
        nullif(schema_url, '') AS schema_url,
        entity_refs::JSON::VARIANT AS entity_refs
    FROM incoming_resources
)

SELECT
    *,
    md5_number(
        json_array(
            attributes::JSON, dropped_attributes_count, schema_url, entity_refs::JSON
        )::VARCHAR
    ) AS identity_hash
FROM typed;

INSERT INTO base.resources
WITH
new_resources AS (
    SELECT *
    FROM identified_resources
    ANTI JOIN base.resources USING (identity_hash)
    QUALIFY row_number() OVER (PARTITION BY identity_hash ORDER BY row) = 1
),

last_id AS (
    SELECT coalesce(max(resource_id), 0) AS resource_id
    FROM base.resources
)

SELECT
    last_id.resource_id + row_number() OVER (ORDER BY row) AS resource_id,
    identity_hash,
    attributes['service.name']::VARCHAR AS service_name,
    attributes['service.namespace']::VARCHAR AS service_namespace,
    attributes['service.instance.id']::VARCHAR AS service_instance_id,
    attributes['host.name']::VARCHAR AS host_name,
    attributes['tracekit.job.id']::VARCHAR AS job_id,
    try_cast(attributes['tracekit.attempt']::VARCHAR AS INTEGER) AS attempt,
    try_cast(attributes['tracekit.rank']::VARCHAR AS INTEGER) AS rank,
    try_cast(attributes['tracekit.world_size']::VARCHAR AS INTEGER) AS world_size,
    attributes,
    dropped_attributes_count,
    schema_url,
    entity_refs
FROM new_resources
CROSS JOIN last_id
ORDER BY row;

SELECT
    identified_resources.row,
    resources.resource_id
FROM identified_resources
INNER JOIN base.resources USING (identity_hash)
ORDER BY identified_resources.row
