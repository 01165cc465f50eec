-- How long units took over time: counts in cells of the clock and of the logarithm of the duration.
--
-- A cell is half-open in both directions and its ends are whole nanoseconds, so that a search between them finds just
-- the units that it counts.
--
-- Parameters:
--   $kind: request or step.
--   $service: their service, NULL for any.
--   $model: model that they asked for, NULL for any.
--   $tenant_key: key of the attribute that names their tenant, NULL where none is asked for.
--   $tenant: their tenant as text.
--   $job: their training job, NULL for any.
--   $first_ns: those that start before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: those that start from it on are left out; NULL for no limit.
--   $operation: their name, NULL for any.
--   $outcome: how they ended, NULL for any.
--   $window_count: number of windows that the time is cut into at most.
--   $cells_a_decade: number of cells between a duration and ten times of it.
-- Columns:
--   first_ns: start of the cell's window, nanoseconds since the epoch.
--   last_ns: its end.
--   least_ns: shortest duration of the cell in nanoseconds.
--   below_ns: where the next cell begins.
--   unit_count: units in the cell.
--   failed_count: those of them that failed.
WITH
chosen AS (
    SELECT
        start_ns,
        end_ns - start_ns AS e2e_ns,
        outcome
    FROM base.units
    WHERE
        kind = $kind
        AND end_ns >= start_ns
        AND ($service IS NULL OR service_name = $service)
        AND ($model::VARCHAR IS NULL OR model = $model)
        AND ($tenant_key::VARCHAR IS NULL OR variant_extract(attributes, $tenant_key)::VARCHAR = $tenant)
        AND ($job::VARCHAR IS NULL OR job_id = $job)
        AND ($first_ns::BIGINT IS NULL OR start_ns >= $first_ns)
        AND ($last_ns::BIGINT IS NULL OR start_ns < $last_ns)
        AND ($operation IS NULL OR name = $operation)
        AND ($outcome IS NULL OR outcome = $outcome)
),
extent AS (
    SELECT
        min(start_ns) AS origin_ns,
        greatest((max(start_ns) - min(start_ns)) // $window_count + 1, 1) AS window_ns
    FROM chosen
),
-- The logarithm is a double: near a cell's end it may fall on the wrong side, and the whole number there decides.
guessed AS (
    SELECT
        chosen.*,
        floor(log10(greatest(e2e_ns, 1)) * $cells_a_decade)::BIGINT AS guess
    FROM chosen
),
numbered AS (
    SELECT
        *,
        guess
        + (e2e_ns >= ceil(pow(10, (guess + 1) / $cells_a_decade)))::BIGINT
        - (e2e_ns < ceil(pow(10, guess / $cells_a_decade)))::BIGINT AS step
    FROM guessed
),
cells AS (
    SELECT
        (numbered.start_ns - extent.origin_ns) // extent.window_ns AS window_number,
        numbered.step,
        count(*) AS unit_count,
        count(*) FILTER (WHERE numbered.outcome = 'failed') AS failed_count
    FROM numbered
    CROSS JOIN extent
    GROUP BY ALL
)
SELECT
    (extent.origin_ns + cells.window_number * extent.window_ns)::BIGINT AS first_ns,
    (extent.origin_ns + (cells.window_number + 1) * extent.window_ns)::BIGINT AS last_ns,
    if(cells.step < 0, 0, ceil(pow(10, cells.step / $cells_a_decade)))::BIGINT AS least_ns,
    ceil(pow(10, (cells.step + 1) / $cells_a_decade))::BIGINT AS below_ns,
    cells.unit_count,
    cells.failed_count
FROM cells
CROSS JOIN extent
ORDER BY first_ns, least_ns
