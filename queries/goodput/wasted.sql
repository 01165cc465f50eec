-- What requests wasted, by bucket: all that those consumed which were not good, and what good ones threw away.
--
-- Engine time is exclusive time of requests in stages of the layers engine and kv; that of a call to a model that
-- sent no spans is upstream. Repeated attempts and recomputed tokens are wasted in good requests too.
--
-- Reads judged_requests.
-- Columns:
--   bucket: as in judged_requests.
--   request_count: requests.
--   tokens: prompt and generated tokens that they tell.
--   untold_count: requests that tell no tokens.
--   engine_ns: time in engines, recomputing included; 0 for good ones.
--   upstream_ns: time in calls whose engine sent no spans; 0 for good ones.
--   retry_ns: time of attempts that were repeated.
--   recompute_ns: time of prefill that was repeated.
WITH
lost AS (
    SELECT unit_id, bucket FROM judged_requests WHERE bucket != 'good'
),
lost_times AS (
    SELECT
        lost.bucket,
        sum(unit_stages.self_ns) FILTER (WHERE regexp_matches(unit_stages.stage, '^(unsplit\()?(eng|kv)[.]')) AS engine_ns,
        sum(unit_stages.self_ns) FILTER (WHERE unit_stages.stage = 'upstream') AS upstream_ns
    FROM base.unit_stages AS unit_stages
    INNER JOIN lost USING (unit_id)
    GROUP BY lost.bucket
),
thrown_times AS (
    SELECT
        judged_requests.bucket,
        sum(unit_stages.self_ns) FILTER (WHERE unit_stages.stage = 'retry') AS retry_ns,
        sum(unit_stages.self_ns) FILTER (WHERE unit_stages.stage = 'eng.recompute') AS recompute_ns
    FROM base.unit_stages AS unit_stages
    INNER JOIN judged_requests USING (unit_id)
    WHERE unit_stages.stage IN ('retry', 'eng.recompute')
    GROUP BY judged_requests.bucket
),
counted AS (
    SELECT
        judged_requests.bucket,
        count(*) AS request_count,
        sum(coalesce(units.input_tokens, 0) + coalesce(units.output_tokens, 0)) AS tokens,
        count(*) FILTER (WHERE units.input_tokens IS NULL AND units.output_tokens IS NULL) AS untold_count
    FROM judged_requests
    INNER JOIN base.units AS units USING (unit_id)
    GROUP BY judged_requests.bucket
)
SELECT
    bucket,
    counted.request_count,
    counted.tokens::BIGINT AS tokens,
    counted.untold_count,
    coalesce(lost_times.engine_ns, 0)::BIGINT AS engine_ns,
    coalesce(lost_times.upstream_ns, 0)::BIGINT AS upstream_ns,
    coalesce(thrown_times.retry_ns, 0)::BIGINT AS retry_ns,
    coalesce(thrown_times.recompute_ns, 0)::BIGINT AS recompute_ns
FROM counted
LEFT JOIN lost_times USING (bucket)
LEFT JOIN thrown_times USING (bucket)
ORDER BY bucket
