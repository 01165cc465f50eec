-- Model and tokens of requests as the attributes of their root tell, where no span is known as the call of a model.
--
-- Made into the temporary table `tail_described`; empty where all requests have a model, because reading the attributes
-- of a million requests takes a second.
-- Reads tail_selection: the view `units` with the columns `side` and `value_ns`.
--
-- Columns:
--   unit_id: the request.
--   model: its model, NULL where the root tells none.
--   input_tokens: number of prompt tokens, NULL where unknown.
--   output_tokens: number of generated tokens, NULL where unknown.
SELECT DISTINCT
    unit_id,
    coalesce(attributes['gen_ai.request.model'], attributes['gen_ai.response.model'])::VARCHAR AS model,
    coalesce(input_tokens, try_cast(attributes['gen_ai.usage.input_tokens'] AS BIGINT)) AS input_tokens,
    coalesce(output_tokens, try_cast(attributes['gen_ai.usage.output_tokens'] AS BIGINT)) AS output_tokens
FROM tail_selection
WHERE kind = 'request' AND model IS NULL
