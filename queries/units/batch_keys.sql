-- Names of the attributes that spans of the batch have, by who sent them.
--
-- Reads batch_rows.
-- Columns:
--   resource_id: the resource of the spans.
--   key: name of an attribute.
SELECT DISTINCT
    resource_id,
    unnest(variant_keys(attributes)) AS key
FROM batch_rows
