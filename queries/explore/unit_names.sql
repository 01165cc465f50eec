-- What units of a kind are called, the most frequent first.
--
-- Parameters:
--   $kind: request or step.
--   $limit: number of names at most.
-- Columns:
--   name: name of the units.
--   unit_count: number of units.
SELECT
    name,
    count(*) AS unit_count
FROM base.units
WHERE kind = $kind
GROUP BY name
ORDER BY unit_count DESC, name
LIMIT $limit
