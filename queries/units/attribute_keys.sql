-- Which attributes that mappings read the spans of each resource have.
--
-- Parameters:
--   $wanted: names of the attributes that mappings read.
-- Columns:
--   keys: names of attributes, in order.
--   resource_ids: the resources whose spans have just these, in order.
WITH
of_resources AS (
    SELECT
        resource_id,
        list(key ORDER BY key) AS keys
    FROM base.span_attribute_keys
    WHERE key IN (FROM unnest($wanted::VARCHAR[]))
    GROUP BY resource_id
)
SELECT
    keys,
    list(resource_id ORDER BY resource_id) AS resource_ids
FROM of_resources
GROUP BY keys
ORDER BY keys
