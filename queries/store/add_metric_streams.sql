-- Gives every incoming metric series its number in this store, adding those that are new.
--
-- A series is identified by its whole content, in whatever order its attributes came, and that of its
-- resource and scope, so that it has the same identity in every store. The input is the
-- registered table `incoming_streams`: `row`, `resource_id`, `scope_id`, `name`, `description`, `unit`,
-- `kind`, `temporality`, `is_monotonic`, `attributes` and `metadata` (JSON text). Most rows repeat a series,
-- one row a point, so they are grouped before the text is read.
--
-- Columns:
--   row: position of the incoming series.
--   stream_id: number of that series in base.metric_streams.
CREATE OR REPLACE TEMP TABLE identified_streams AS
WITH
grouped AS (
    SELECT * EXCLUDE (row), list(row) AS rows, min(row) AS first_row
    FROM incoming_streams
    GROUP BY ALL
),

typed AS (
    SELECT * REPLACE (
        nullif(description, '') AS description,
        nullif(unit, '') AS unit,
        attributes::JSON::VARIANT AS attributes,
        metadata::JSON::VARIANT AS metadata
    )
    FROM grouped
)

SELECT
    typed.*,
    md5_number(
        json_array(
            resources.identity_hash::VARCHAR, scopes.identity_hash::VARCHAR, typed.name, typed.description, typed.unit,
            typed.kind, typed.temporality, typed.is_monotonic, typed.attributes::JSON,
            typed.metadata::JSON
        )::VARCHAR
    ) AS identity_hash
FROM typed
INNER JOIN base.resources USING (resource_id)
INNER JOIN base.scopes USING (scope_id);

INSERT INTO base.metric_streams
WITH
new_streams AS (
    SELECT *
    FROM identified_streams
    ANTI JOIN base.metric_streams USING (identity_hash)
    QUALIFY row_number() OVER (PARTITION BY identity_hash ORDER BY first_row) = 1
),

last_id AS (
    SELECT coalesce(max(stream_id), 0) AS stream_id
    FROM base.metric_streams
)

SELECT
    last_id.stream_id + row_number() OVER (ORDER BY first_row) AS stream_id,
    identity_hash,
    resource_id,
    scope_id,
    name,
    description,
    unit,
    kind,
    temporality,
    is_monotonic,
    attributes,
    metadata
FROM new_streams
CROSS JOIN last_id
ORDER BY first_row;

WITH
numbered AS (
    SELECT unnest(identified_streams.rows) AS row, metric_streams.stream_id
    FROM identified_streams
    INNER JOIN base.metric_streams USING (identity_hash)
)

SELECT row, stream_id
FROM numbered
ORDER BY row
