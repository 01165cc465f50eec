-- Adds the attribute keys that spans of a resource had not had before.
--
-- The input is the registered table `incoming_keys`: `resource_id`, `key`.
INSERT INTO base.span_attribute_keys
SELECT DISTINCT
    resource_id,
    key
FROM incoming_keys
ANTI JOIN base.span_attribute_keys USING (resource_id, key)
