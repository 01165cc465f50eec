-- Classes of units that should take the same time, the most frequent first; rare ones share class 0.
--
-- Reads tail_units, made by `units.sql`.
--
-- Parameters:
--   $class_limit: number of classes that stay apart.
-- Columns:
--   population: kind of request and model, or the job.
--   input_bucket: power of two at or below the number of input tokens, -1 where it does not count.
--   output_bucket: the same for output tokens.
--   class_id: number of the class from 1; 0 for all classes beyond the limit.
WITH
counted AS (
    SELECT
        population,
        input_bucket,
        output_bucket,
        count(*) AS unit_count
    FROM tail_units
    WHERE left_out IS NULL
    GROUP BY ALL
),
ranked AS (
    SELECT
        *,
        row_number() OVER (ORDER BY unit_count DESC, population, input_bucket, output_bucket) AS class_rank
    FROM counted
)
SELECT
    population,
    input_bucket,
    output_bucket,
    CASE WHEN class_rank <= $class_limit THEN class_rank ELSE 0 END::USMALLINT AS class_id
FROM ranked
ORDER BY class_rank
