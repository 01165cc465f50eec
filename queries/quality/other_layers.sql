-- Requests that are seen from another layer than those that answers count.
--
-- Reads population_candidates and unit_populations, made by `population/left_out.sql`.
-- Parameters:
--   $prefix: how reasons that name another layer begin.
-- Columns:
--   check_name: `other_layer:` and the layer.
--   finding_count: requests that are seen from it.
--   total_count: all requests.
SELECT
    'other_layer:' || substr(reason, length($prefix) + 1) AS check_name,
    count(*)::BIGINT AS finding_count,
    (SELECT count(*) FROM population_candidates)::BIGINT AS total_count
FROM unit_populations
WHERE starts_with(reason, $prefix)
GROUP BY reason
ORDER BY reason
