-- Time of each stage in each band of units, by slices of time.
--
-- Reads tail_members (`unit_id`, `band`, `bin`, `weight`) and tail_stage_rows, made by `stage_rows.sql`.
--
-- Columns:
--   band: number of the band of units.
--   bin: number of the slice of time.
--   stage: the stage.
--   self_ns: exclusive time in nanoseconds, summed over units.
--   alternative_ns: the same under the other rule of ownership.
--   weighted_ns: exclusive time by the weights of the units.
SELECT
    tail_members.band,
    tail_members.bin,
    tail_stage_rows.stage,
    sum(tail_stage_rows.self_ns)::BIGINT AS self_ns,
    sum(tail_stage_rows.alternative_ns)::BIGINT AS alternative_ns,
    sum(tail_stage_rows.self_ns * tail_members.weight) AS weighted_ns
FROM tail_members
INNER JOIN tail_stage_rows USING (unit_id)
GROUP BY ALL
ORDER BY tail_members.band, tail_members.bin, tail_stage_rows.stage
