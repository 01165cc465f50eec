-- Classes of units that stay apart, as `classes.sql` made them.
--
-- Reads tail_classes.
--
-- Columns:
--   population: kind of request and model, or the job.
--   input_bucket: power of two at or below the number of input tokens, -1 where it does not count.
--   output_bucket: the same for output tokens.
--   class_id: number of the class from 1.
SELECT
    population,
    input_bucket,
    output_bucket,
    class_id
FROM tail_classes
WHERE class_id > 0
ORDER BY class_id
