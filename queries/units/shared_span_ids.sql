-- Spans of a batch that share their id with their caller, as Zipkin has it: how they hang together.
--
-- The caller (a client or producer) keeps the id; the span of the service that it called gets another one, hangs below
-- the caller, and has what hung below the id and comes from its own sender, or not from that of the caller.
--
-- Reads batch_rows.
-- Columns:
--   span_row: a span whose ids change.
--   span_id, parent_span_id: its ids in the batch.
WITH
shared AS (
    SELECT trace_no, span_id
    FROM batch_rows
    GROUP BY trace_no, span_id
    HAVING count(*) = 2 AND count(*) FILTER (WHERE kind IN (2, 5)) = 1
),
pairs AS (
    SELECT
        trace_no,
        span_id,
        xor(span_id, 11400714819323198485::UBIGINT) AS server_span_id,
        any_value(span_row) FILTER (WHERE kind IN (2, 5)) AS server_row,
        any_value(resource_id) FILTER (WHERE kind IN (2, 5)) AS server_resource_id,
        any_value(resource_id) FILTER (WHERE kind NOT IN (2, 5)) AS client_resource_id
    FROM batch_rows
    INNER JOIN shared USING (trace_no, span_id)
    GROUP BY trace_no, span_id
),
servers AS (
    SELECT server_row AS span_row, server_span_id AS span_id, span_id AS parent_span_id
    FROM pairs
),
below AS (
    SELECT
        child.span_row,
        child.span_id,
        pairs.server_span_id AS parent_span_id
    FROM batch_rows AS child
    INNER JOIN pairs ON pairs.trace_no = child.trace_no AND pairs.span_id = child.parent_span_id
    ANTI JOIN servers ON servers.span_row = child.span_row
    WHERE child.resource_id = pairs.server_resource_id OR child.resource_id != pairs.client_resource_id
)
SELECT span_row, span_id, parent_span_id FROM servers
UNION ALL
SELECT span_row, span_id, parent_span_id FROM below
ORDER BY span_row
