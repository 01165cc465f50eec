-- How many units of the kind that a metric is about the store holds, whatever their outcome.
--
-- Parameters:
--   $metric: ttft, tpot, e2e or step.
-- Columns:
--   unit_count: number of units.
SELECT count(*) AS unit_count
FROM base.units
WHERE kind = CASE $metric WHEN 'step' THEN 'step' ELSE 'request' END
