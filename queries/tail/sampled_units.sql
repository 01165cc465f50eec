-- About so many units of each side of a tail question, chosen as if by lot, of all that enter and not of the slowest alone.
--
-- Reads tail_units, made by `units.sql`, and tail_classes. Made into the temporary table `tail_sampled`.
--
-- Parameters:
--   $unit_limit: about so many units are taken of each side.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   start_ns: its start.
--   class_id: its class.
--   output_tokens: number of generated tokens.
WITH
sides AS (
    SELECT
        side,
        count(*) AS unit_count
    FROM tail_units
    WHERE left_out IS NULL
    GROUP BY side
)
SELECT
    tail_units.side,
    tail_units.unit_id,
    tail_units.start_ns,
    tail_classes.class_id,
    tail_units.output_tokens
FROM tail_units
INNER JOIN tail_classes USING (population, input_bucket, output_bucket)
INNER JOIN sides USING (side)
WHERE
    tail_units.left_out IS NULL
    -- By what a unit is and not by its number, which depends on what arrived first.
    AND hash(tail_units.start_ns, tail_units.value_ns) % 1000000 < 1e6 * $unit_limit / sides.unit_count
