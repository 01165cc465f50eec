-- What is known to be wrong with the units that an answer stands on.
--
-- Reads tail_units, made by `tail/units.sql`.
--
-- Columns:
--   unit_count: units that enter the answer.
--   wall_ns: their duration in nanoseconds, summed.
--   orphan_ns: time covered by spans whose parent is missing.
--   outside_ns: time of spans that lies outside their parents and was cut off.
--   post_root_ns: time of spans after their root had ended.
--   shift_ns: clock corrections, summed.
--   incomplete_count: units with spans whose parent is missing.
--   conflict_count: units with impossible values that were not used.
--   vantage_count: number of different vantage points that the units were seen from.
SELECT
    count(*) AS unit_count,
    coalesce(sum(units.end_ns - units.start_ns), 0)::BIGINT AS wall_ns,
    coalesce(sum(units.orphan_ns), 0)::BIGINT AS orphan_ns,
    coalesce(sum(units.outside_ns), 0)::BIGINT AS outside_ns,
    coalesce(sum(units.post_root_ns), 0)::BIGINT AS post_root_ns,
    coalesce(sum(units.shift_ns), 0)::BIGINT AS shift_ns,
    count(*) FILTER (WHERE units.orphan_count > 0) AS incomplete_count,
    count(*) FILTER (WHERE units.conflict_count > 0) AS conflict_count,
    count(DISTINCT units.vantage) AS vantage_count
FROM base.units
SEMI JOIN (SELECT unit_id FROM tail_units WHERE left_out IS NULL) AS entering USING (unit_id)
