-- Names of the attributes that spans of the batch have.
--
-- Reads batch_rows.
-- Columns:
--   key: name of an attribute.
SELECT DISTINCT unnest(variant_keys(attributes)) AS key
FROM batch_rows
