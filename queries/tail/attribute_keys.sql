-- Attributes that units of the tail have, the most frequent first.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail).
--
-- Columns:
--   attribute: key of the attribute.
--   unit_count: units of the tail that have it.
WITH
keys AS (
    SELECT unnest(variant_keys(units.attributes)) AS attribute
    FROM base.units
    SEMI JOIN (SELECT unit_id FROM tail_members WHERE band = 0) AS tail USING (unit_id)
)
SELECT
    attribute,
    count(*) AS unit_count
FROM keys
GROUP BY attribute
ORDER BY unit_count DESC, attribute
