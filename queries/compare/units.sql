-- The requests of one side of a comparison with what is compared.
--
-- Reads judged_requests.
-- Columns:
--   unit_id: the request.
--   start_ns: its start, nanoseconds since the epoch.
--   bucket: as in judged_requests.
--   population: service, name and model; where no span is known as the call of a model, what the root says of it.
--   input_tokens, output_tokens: counts, NULL where unknown.
--   ttft_ns, decode_ns, e2e_ns: times of served requests in nanoseconds, NULL where unknown and of others.
WITH
-- Reading the attributes of all requests takes most of the time, and few lack what their root may tell.
described AS (
    SELECT
        units.unit_id,
        coalesce(
            units.attributes['gen_ai.request.model']::VARCHAR,
            units.attributes['gen_ai.response.model']::VARCHAR
        ) AS model,
        try_cast(units.attributes['gen_ai.usage.input_tokens'] AS BIGINT) AS input_tokens,
        try_cast(units.attributes['gen_ai.usage.output_tokens'] AS BIGINT) AS output_tokens
    FROM base.units AS units
    SEMI JOIN judged_requests USING (unit_id)
    WHERE units.model IS NULL OR units.input_tokens IS NULL OR units.output_tokens IS NULL
)
SELECT
    judged_requests.unit_id,
    judged_requests.start_ns,
    judged_requests.bucket,
    concat_ws(
        ' ',
        units.service_name,
        units.name,
        coalesce(units.model::VARCHAR, described.model)
    ) AS population,
    coalesce(units.input_tokens, described.input_tokens) AS input_tokens,
    coalesce(units.output_tokens, described.output_tokens) AS output_tokens,
    CASE WHEN units.outcome = 'ok' THEN units.first_token_ns - units.start_ns END AS ttft_ns,
    CASE WHEN units.outcome = 'ok' AND units.output_tokens > 1 THEN units.last_token_ns - units.first_token_ns END
        AS decode_ns,
    CASE WHEN units.outcome = 'ok' THEN units.end_ns - units.start_ns END AS e2e_ns
FROM judged_requests
INNER JOIN base.units AS units USING (unit_id)
LEFT JOIN described USING (unit_id)
ORDER BY judged_requests.start_ns, judged_requests.unit_id
