-- How often each service, name, model, job, rank and host occurs in the tail and in the rest, by block of time.
--
-- Reads tail_members (`unit_id`, `band`, `bin`; band 0 = tail).
--
-- Parameters:
--   $rest_band: number of the band that the tail is compared with.
--   $block_count: number of blocks that the 1024 slices of time are merged into.
-- Columns:
--   dimension: name of the column; `host_name` is that of a training rank.
--   value: its value as text; units without one are left out.
--   block: number of the block of time.
--   tail_count: units of the tail.
--   rest_count: units of the rest.
WITH
described AS (
    SELECT
        (tail_members.bin * $block_count) // 1024 AS block,
        tail_members.band,
        units.service_name::VARCHAR AS service_name,
        units.name::VARCHAR AS name,
        units.model::VARCHAR AS model,
        units.job_id::VARCHAR AS job_id,
        units.attempt::VARCHAR AS attempt,
        units.rank::VARCHAR AS rank,
        training_ranks.host_name::VARCHAR AS host_name
    FROM tail_members
    INNER JOIN base.units USING (unit_id)
    LEFT JOIN training_ranks
        ON training_ranks.rank = units.rank
        AND training_ranks.job_id = coalesce(units.job_id, '')
        AND training_ranks.attempt = coalesce(units.attempt, -1)
    WHERE tail_members.band IN (0, $rest_band)
),
dimensions AS (
    UNPIVOT described
    ON service_name, name, model, job_id, attempt, rank, host_name
    INTO NAME dimension VALUE value
)
SELECT
    dimension,
    value,
    block,
    count(*) FILTER (WHERE band = 0) AS tail_count,
    count(*) FILTER (WHERE band = $rest_band) AS rest_count
FROM dimensions
GROUP BY ALL
ORDER BY dimension, value, block
