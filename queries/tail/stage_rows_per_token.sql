-- Stages of the units that a tail question compares, as nanoseconds per generated token after the first.
--
-- Each unit's running sum of stage time is divided by its number of tokens and rounded down; a stage gets the
-- step between two neighbours. So the stages of a unit sum to `tpot_ns` of the view `units` exactly.
-- Reads tail_members: the units to compare (`unit_id`, several rows a unit allowed), and tail_units.
--
-- Columns:
--   unit_id: the unit.
--   unit_window: window of the unit that the time lies in, always decode.
--   stage: the stage.
--   operation: name of the span that the time belongs to.
--   self_ns: exclusive time in nanoseconds per token.
--   alternative_ns: the same under the other rule of ownership.
--   call_count: operations that the time is made of.
WITH
decode_rows AS (
    SELECT
        unit_stages.*,
        tail_units.output_tokens - 1 AS tokens
    FROM base.unit_stages
    INNER JOIN (SELECT DISTINCT unit_id, output_tokens FROM tail_units WHERE left_out IS NULL) AS tail_units
        USING (unit_id)
    SEMI JOIN tail_members USING (unit_id)
    WHERE unit_stages."window" = 'decode'
),
running AS (
    SELECT
        *,
        sum(self_ns) OVER stages_so_far AS self_sum,
        sum(alternative_ns) OVER stages_so_far AS alternative_sum
    FROM decode_rows
    WINDOW stages_so_far AS (PARTITION BY unit_id ORDER BY stage, operation ROWS UNBOUNDED PRECEDING)
)
SELECT
    unit_id,
    "window" AS unit_window,
    stage,
    operation,
    (self_sum // tokens - (self_sum - self_ns) // tokens)::BIGINT AS self_ns,
    (alternative_sum // tokens - (alternative_sum - alternative_ns) // tokens)::BIGINT AS alternative_ns,
    operation_count AS call_count
FROM running
