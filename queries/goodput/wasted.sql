-- What requests consumed, by bucket; all of it is wasted where the request was not good.
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
--   engine_ns: time in engines, recomputing included.
--   upstream_ns: time in calls whose engine sent no spans.
--   retry_ns: time of attempts that were repeated.
--   recompute_ns: time of prefill that was repeated.
WITH
stage_kinds AS (
    SELECT
        stage,
        CASE
            WHEN stage IN ('retry', 'upstream') THEN stage
            WHEN regexp_matches(stage, '^(unsplit\()?(eng|kv)[.]') THEN 'engine'
        END AS kind
    FROM (SELECT DISTINCT stage FROM base.unit_stages)
),
spent AS (
    SELECT
        judged_requests.bucket,
        sum(unit_stages.self_ns) FILTER (WHERE stage_kinds.kind = 'engine') AS engine_ns,
        sum(unit_stages.self_ns) FILTER (WHERE stage_kinds.kind = 'upstream') AS upstream_ns,
        sum(unit_stages.self_ns) FILTER (WHERE stage_kinds.kind = 'retry') AS retry_ns,
        sum(unit_stages.self_ns) FILTER (WHERE unit_stages.stage = 'eng.recompute') AS recompute_ns
    FROM base.unit_stages AS unit_stages
    INNER JOIN stage_kinds USING (stage)
    INNER JOIN judged_requests USING (unit_id)
    WHERE stage_kinds.kind IS NOT NULL
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
    coalesce(spent.engine_ns, 0)::BIGINT AS engine_ns,
    coalesce(spent.upstream_ns, 0)::BIGINT AS upstream_ns,
    coalesce(spent.retry_ns, 0)::BIGINT AS retry_ns,
    coalesce(spent.recompute_ns, 0)::BIGINT AS recompute_ns
FROM counted
LEFT JOIN spent USING (bucket)
ORDER BY bucket
