-- The stages that units of a kind spent time in, those with the most of it first.
--
-- Parameters:
--   $kind: request or step.
-- Columns:
--   stage: the stage.
--   self_ns: time of all units in it, in nanoseconds.
SELECT
    unit_stages.stage,
    sum(unit_stages.self_ns)::HUGEINT::BIGINT AS self_ns
FROM base.unit_stages
INNER JOIN base.units USING (unit_id)
WHERE units.kind = $kind
GROUP BY unit_stages.stage
HAVING sum(unit_stages.self_ns) > 0
ORDER BY self_ns DESC, unit_stages.stage
