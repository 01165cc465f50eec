-- Time of single stages by the host of each service, on both sides of a tail question.
--
-- A request is told by the host of a service on which its spans of that service last longest; the instance stands for a
-- host without a name. Services on one host differ in nothing and are left out.
-- Reads tail_whose, made by `whose_units.sql`.
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
WITH
hosts AS (
    SELECT
        resource_id,
        service_name,
        coalesce(host_name, service_instance_id) AS host
    FROM base.resources
    WHERE service_name IS NOT NULL AND coalesce(host_name, service_instance_id) IS NOT NULL
    QUALIFY min(host) OVER (PARTITION BY service_name) != max(host) OVER (PARTITION BY service_name)
),
members AS (
    SELECT
        units.unit_id,
        units.trace_id,
        units.start_ns,
        units.end_ns
    FROM base.units
    SEMI JOIN tail_whose USING (unit_id)
    WHERE units.kind = 'request'
),
served AS (
    SELECT
        members.unit_id,
        hosts.service_name,
        hosts.host,
        sum(spans.end_ns - spans.start_ns) AS duration_ns
    FROM base.spans
    INNER JOIN hosts USING (resource_id)
    INNER JOIN members
        ON spans.trace_id = members.trace_id
        AND spans.start_ns BETWEEN members.start_ns AND members.end_ns
    GROUP BY ALL
),
chosen AS (
    SELECT
        unit_id,
        service_name,
        arg_max(host, (duration_ns, host)) AS host
    FROM served
    GROUP BY ALL
)
SELECT
    'host of ' || chosen.service_name AS dimension,
    chosen.host AS value,
    tail_whose.stage,
    tail_whose.side,
    tail_whose.block,
    count(*) AS unit_count,
    sum(tail_whose.self_ns)::DOUBLE AS sum_ns,
    sum(tail_whose.log_ratio)::DOUBLE AS log_sum,
    sum(tail_whose.log_ratio::HUGEINT * tail_whose.log_ratio)::DOUBLE AS log_square_sum
FROM tail_whose
INNER JOIN chosen USING (unit_id)
GROUP BY ALL
ORDER BY dimension, value, stage, side, block
