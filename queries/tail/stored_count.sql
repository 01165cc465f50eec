-- How many units of the kind that a metric is about the store holds, whatever their outcome.
--
-- Parameters:
--   $unit_kind: request, step or job.
-- Columns:
--   unit_count: number of units.
SELECT count(*) AS unit_count
FROM base.units
WHERE kind = $unit_kind
