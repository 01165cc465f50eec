-- Time of single stages by the host of each service, on both sides of a tail question.
--
-- Reads tail_whose, made by `whose_units.sql`, and tail_hosts, made by `unit_hosts.sql`.
--
-- Columns:
--   dimension: the service, as `host of SERVICE`.
--   value: the host; units without spans of the service are left out.
--   stage: the stage.
--   side: 0 = the selection, 1 = the baseline selection.
--   block: block of time of the baseline; 0 for the selection.
--   unit_count: units with the host.
--   sum_ns: their time in the stage, nanoseconds; summed as integers, so that the order of rows does not matter.
--   log_sum: sum of their `log_ratio`.
--   log_square_sum: the sum of its squares.
SELECT
    'host of ' || tail_hosts.service_name AS dimension,
    tail_hosts.host AS value,
    tail_whose.stage,
    tail_whose.side,
    tail_whose.block,
    count(*) AS unit_count,
    sum(tail_whose.self_ns)::DOUBLE AS sum_ns,
    sum(tail_whose.log_ratio)::DOUBLE AS log_sum,
    sum(tail_whose.log_ratio::HUGEINT * tail_whose.log_ratio)::DOUBLE AS log_square_sum
FROM tail_whose
INNER JOIN tail_hosts USING (unit_id)
GROUP BY ALL
ORDER BY dimension, value, stage, side, block
