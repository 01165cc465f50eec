-- Names of the attributes that spans of the batch have.
--
-- Reads batch_rows.
-- Columns:
--   key: name of an attribute.
WITH
key_sets AS (
    SELECT DISTINCT variant_keys(attributes) AS keys
    FROM batch_rows
)
SELECT DISTINCT unnest(keys) AS key
FROM key_sets
