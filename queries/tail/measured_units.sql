-- Units that enter a tail question.
--
-- Reads tail_units, made by `units.sql`, and tail_classes, made by `classes.sql`.
--
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   start_ns: its start, nanoseconds since the epoch.
--   value_ns: its metric in nanoseconds.
--   class_id: its class.
--   input_tokens: number of prompt tokens, -1 where unknown.
--   output_tokens: number of generated tokens, -1 where unknown.
SELECT
    tail_units.side,
    tail_units.unit_id,
    tail_units.start_ns,
    tail_units.value_ns,
    tail_classes.class_id,
    coalesce(tail_units.input_tokens, -1) AS input_tokens,
    coalesce(tail_units.output_tokens, -1) AS output_tokens
FROM tail_units
INNER JOIN tail_classes USING (population, input_bucket, output_bucket)
WHERE tail_units.left_out IS NULL
