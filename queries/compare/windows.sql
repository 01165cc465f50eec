-- What changed between two windows of time, stage by stage, at the same mix: the question of `tracekit compare` in SQL.
--
-- Served requests are classed by service, name and model, and by input and output tokens in powers of two. The mean of
-- a class counts with the weight n_before * n_after / (n_before + n_after) on both sides, so that other sizes or
-- kinds of requests change nothing; classes that one side lacks have no weight.
--
-- Parameters:
--   $before_first_ns, $before_end_ns, $after_first_ns, $after_end_ns: the windows, nanoseconds since the epoch, half-open.
-- Columns:
--   stage: the stage.
--   before_ns, after_ns: mean exclusive time from arrival to the end of the response, nanoseconds.
--   excess_ns: their difference.
WITH
served AS (
    SELECT
        unit_id,
        start_ns >= $after_first_ns AND start_ns < $after_end_ns AS is_after,
        concat_ws(' ', service_name, name, model) AS population,
        CASE WHEN input_tokens > 0 THEN floor(log2(input_tokens)) END AS input_bucket,
        CASE WHEN output_tokens > 0 THEN floor(log2(output_tokens)) END AS output_bucket
    FROM units
    WHERE kind = 'request' AND outcome = 'ok' AND (
        start_ns >= $before_first_ns AND start_ns < $before_end_ns
        OR start_ns >= $after_first_ns AND start_ns < $after_end_ns
    )
),
classes AS (
    SELECT
        population,
        input_bucket,
        output_bucket,
        count(*) FILTER (WHERE NOT is_after) AS before_count,
        count(*) FILTER (WHERE is_after) AS after_count,
        before_count * after_count / (before_count + after_count) AS weight
    FROM served
    GROUP BY ALL
    HAVING before_count > 0 AND after_count > 0
),
weighed AS (
    SELECT
        served.unit_id,
        served.is_after,
        classes.weight / CASE WHEN served.is_after THEN classes.after_count ELSE classes.before_count END
        / (SELECT sum(weight) FROM classes) AS weight
    FROM served
    INNER JOIN classes
        ON classes.population = served.population
        AND classes.input_bucket IS NOT DISTINCT FROM served.input_bucket
        AND classes.output_bucket IS NOT DISTINCT FROM served.output_bucket
)
SELECT
    unit_stages.stage,
    coalesce(round(sum(unit_stages.self_ns * weighed.weight) FILTER (WHERE NOT weighed.is_after)), 0)::BIGINT AS before_ns,
    coalesce(round(sum(unit_stages.self_ns * weighed.weight) FILTER (WHERE weighed.is_after)), 0)::BIGINT AS after_ns,
    after_ns - before_ns AS excess_ns
FROM unit_stages
INNER JOIN weighed USING (unit_id)
GROUP BY unit_stages.stage
ORDER BY excess_ns DESC, unit_stages.stage
