-- Time per call of each stage by class of unit and block of time, on both sides of a tail question.
--
-- Reads tail_calls, made by `call_rows.sql`.
--
-- Columns:
--   stage: the stage.
--   side: 0 = the selection, 1 = the baseline selection.
--   class_id: class of the units.
--   block: block of time of the baseline.
--   unit_count: units that have the stage.
--   self_ns: their time in it, nanoseconds.
--   log_sum: sum of their `log_call`; summed as integers, so that the order of rows does not matter.
--   log_square_sum: the sum of its squares.
--   side_count: all units of the side that were looked at and have any stage.
WITH
whole AS (
    SELECT
        side,
        count(DISTINCT unit_id) AS side_count
    FROM tail_calls
    GROUP BY side
)
SELECT
    tail_calls.stage,
    tail_calls.side,
    tail_calls.class_id,
    tail_calls.block,
    count(*) AS unit_count,
    sum(tail_calls.self_ns)::DOUBLE AS self_ns,
    sum(tail_calls.log_call)::DOUBLE AS log_sum,
    sum(tail_calls.log_call::HUGEINT * tail_calls.log_call)::DOUBLE AS log_square_sum,
    any_value(whole.side_count) AS side_count
FROM tail_calls
INNER JOIN whole USING (side)
GROUP BY tail_calls.stage, tail_calls.side, tail_calls.class_id, tail_calls.block
ORDER BY tail_calls.stage, tail_calls.side, tail_calls.class_id, tail_calls.block
