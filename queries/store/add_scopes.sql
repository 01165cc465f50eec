-- Gives every incoming instrumentation scope its number in this store, adding those that are new.
--
-- A scope is identified by its whole content, in whatever order its attributes came. The input is the
-- registered table `incoming_scopes`: `row`, `name`, `version`, `attributes` (JSON text),
-- `dropped_attributes_count`, `schema_url`.
--
-- Columns:
--   row: position of the incoming scope.
--   scope_id: number of that scope in base.scopes.
CREATE OR REPLACE TEMP TABLE identified_scopes AS
WITH
typed AS (
    SELECT
        row,
        coalesce(name, '') AS name,
        nullif(version, '') AS version,
        attributes::JSON::VARIANT AS attributes,
        dropped_attributes_count,
        nullif(schema_url, '') AS schema_url
    FROM incoming_scopes
)

SELECT
    *,
    md5_number(
        json_array(name, version, attributes::JSON, dropped_attributes_count, schema_url)::VARCHAR
    ) AS identity_hash
FROM typed;

INSERT INTO base.scopes
WITH
new_scopes AS (
    SELECT *
    FROM identified_scopes
    ANTI JOIN base.scopes USING (identity_hash)
    QUALIFY row_number() OVER (PARTITION BY identity_hash ORDER BY row) = 1
),

last_id AS (
    SELECT coalesce(max(scope_id), 0) AS scope_id
    FROM base.scopes
)

SELECT
    last_id.scope_id + row_number() OVER (ORDER BY row) AS scope_id,
    identity_hash,
    name,
    version,
    attributes,
    dropped_attributes_count,
    schema_url
FROM new_scopes
CROSS JOIN last_id
ORDER BY row;

SELECT
    identified_scopes.row,
    scopes.scope_id
FROM identified_scopes
INNER JOIN base.scopes USING (identity_hash)
ORDER BY identified_scopes.row
