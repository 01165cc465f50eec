-- Attributes of spans by which requests are named, as far as some span of the store has them.
--
-- Columns:
--   key: name of the attribute.
SELECT DISTINCT key
FROM base.span_attribute_keys
WHERE key IN (
    'dynamo.request.id',
    'gen_ai.request.id',
    'guid:x-request-id',
    'http.request.header.x-request-id',
    'http.request.header.x_request_id',
    'llm.request.id',
    'request.id',
    'request_id',
    'rid',
    'triton.request_id',
    'x-request-id',
    'x_request_id'
)
ORDER BY key
