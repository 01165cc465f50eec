-- Which of some attributes any span has.
--
-- Parameters:
--   $keys: names of attributes.
-- Columns:
--   key: an attribute that occurs.
SELECT DISTINCT key
FROM base.span_attribute_keys
WHERE list_contains($keys::VARCHAR[], key)
ORDER BY key
