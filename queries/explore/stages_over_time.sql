-- Mean time of units in each stage, per window of the clock; a window's stages sum to its mean of the metric.
--
-- Parameters:
--   $unit_ids: the units, as a list.
--   $windows: parts of a unit that the metric covers, as a list (ttft, decode, after, e2e, step).
--   $first_ns: start of the first window, nanoseconds since the epoch.
--   $window_ns: length of a window in nanoseconds.
-- Columns:
--   window_start_ns: start of the window, nanoseconds since the epoch.
--   window_end_ns: its end.
--   stage: the stage.
--   mean_ns: mean time in the stage of the units that start in the window, in nanoseconds.
--   unit_count: number of those units.
WITH
chosen_units AS (
    SELECT
        units.unit_id,
        (units.start_ns - $first_ns) // $window_ns AS window_number
    FROM base.units
    WHERE units.unit_id IN (SELECT unnest($unit_ids::BIGINT[]))
),
window_sizes AS (
    SELECT
        window_number,
        count(*) AS unit_count
    FROM chosen_units
    GROUP BY window_number
),
stage_sums AS (
    SELECT
        chosen_units.window_number,
        unit_stages.stage,
        sum(unit_stages.self_ns) AS self_ns
    FROM chosen_units
    INNER JOIN unit_stages USING (unit_id)
    WHERE list_contains($windows, unit_stages."window")
    GROUP BY ALL
)
SELECT
    ($first_ns + window_number * $window_ns)::BIGINT AS window_start_ns,
    ($first_ns + (window_number + 1) * $window_ns)::BIGINT AS window_end_ns,
    stage_sums.stage,
    stage_sums.self_ns / window_sizes.unit_count AS mean_ns,
    window_sizes.unit_count
FROM stage_sums
INNER JOIN window_sizes USING (window_number)
ORDER BY window_start_ns, stage_sums.stage
