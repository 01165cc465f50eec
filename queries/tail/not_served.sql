-- Requests of the selection that were left out because of how they ended, and how many of them lasted as long as slow
-- ones.
--
-- Reads tail_units, made by `units.sql`.
-- Parameters:
--   $threshold_ns: the metric of the slow ones is at least this, nanoseconds; NULL where none are slow.
-- Columns:
--   outcome: how they ended.
--   unit_count: number of units.
--   as_long_count: those whose metric, or duration where they have none, is at least the threshold.
SELECT
    units.outcome,
    count(*)::BIGINT AS unit_count,
    count(*) FILTER (
        WHERE coalesce(tail_units.value_ns, units.end_ns - units.start_ns) >= $threshold_ns
    )::BIGINT AS as_long_count
FROM tail_units
INNER JOIN base.units AS units USING (unit_id)
WHERE tail_units.side = 0 AND starts_with(tail_units.left_out, 'outcome ')
GROUP BY units.outcome
ORDER BY unit_count DESC, units.outcome
