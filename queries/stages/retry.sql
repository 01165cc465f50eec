-- Operations of attempts that failed and were repeated, whatever sent them.
--
-- An attempt failed where its span has the status ERROR, or an HTTP or gRPC status says that it failed or was
-- refused. It is repeated where a later span of the same name and kind, under the same parent, begins after it ended
-- and asks for the same: two that name different targets (URL, address, remote method, queue, tool) are a loop. A
-- call of a model is repeated by any later call of the same operation there, whatever its model: a fallback. Where
-- `http.request.resend_count` says which attempt a call is, that decides, whatever the name; an answer that only
-- sent the client elsewhere was not in vain. All time of such an attempt and of what ran below it is
-- `retry`, and so is the time that the parent itself spends until the next attempt (the backoff).
-- The attempt that ends the series, well or badly, keeps its own stages, and so does one that has
-- seen a first token: its tokens are used where another one goes on.
--
-- Reads batch_spans, first_token_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; 1, the time between two attempts inside their parent.
--   stage: retry.
--   operation: name of the span, of the time between two attempts that of the attempts with
--     `/backoff`.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL for the span itself.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
WITH RECURSIVE
statuses AS (
    SELECT
        *,
        TRY_CAST(coalesce(attributes['http.response.status_code'], attributes['http.status_code']) AS BIGINT)
            AS http_status,
        coalesce(
            said_grpc_status(attributes['rpc.grpc.status_code']), said_grpc_status(attributes['rpc.response.status_code'])
        ) AS grpc_status,
        TRY_CAST(coalesce(attributes['http.request.resend_count'], attributes['http.resend_count']) AS BIGINT)
            AS resend_count
    FROM batch_spans
    WHERE parent_span_id IS NOT NULL AND (
        status_code = 2
        OR attributes['http.response.status_code']::VARCHAR >= '4'
        OR attributes['http.status_code']::VARCHAR >= '4'
        OR coalesce(attributes['rpc.grpc.status_code'], attributes['rpc.response.status_code']) IS NOT NULL
        OR attributes['http.request.resend_count'] IS NOT NULL
        OR attributes['http.resend_count'] IS NOT NULL
    )
),
failed AS (
    SELECT *
    FROM statuses
    ANTI JOIN first_token_events USING (trace_id, span_id)
    WHERE status_code = 2
        OR http_status IN (408, 425, 429) OR http_status >= 500
        OR grpc_status IN (4, 8, 10, 13, 14)
),
followed AS (
    SELECT
        failed.span_row,
        failed.trace_no,
        failed.span_id,
        failed.parent_span_id,
        failed.name,
        failed.end_ns,
        later.start_ns AS next_start_ns
    FROM failed
    INNER JOIN batch_spans AS later
        ON later.trace_no = failed.trace_no
        AND later.parent_span_id = failed.parent_span_id
        AND (
            later.attributes['gen_ai.operation.name']::VARCHAR
            = failed.attributes['gen_ai.operation.name']::VARCHAR
            OR later.name = failed.name
            -- What one of the two does not tell speaks for nothing.
            AND coalesce(later.attributes['url.full']::VARCHAR = failed.attributes['url.full']::VARCHAR, TRUE)
            AND coalesce(later.attributes['http.url']::VARCHAR = failed.attributes['http.url']::VARCHAR, TRUE)
            AND coalesce(later.attributes['url.path']::VARCHAR = failed.attributes['url.path']::VARCHAR, TRUE)
            AND coalesce(later.attributes['http.target']::VARCHAR = failed.attributes['http.target']::VARCHAR, TRUE)
            AND coalesce(
                later.attributes['server.address']::VARCHAR = failed.attributes['server.address']::VARCHAR, TRUE
            )
            AND coalesce(later.attributes['server.port']::VARCHAR = failed.attributes['server.port']::VARCHAR, TRUE)
            AND coalesce(
                later.attributes['net.peer.name']::VARCHAR = failed.attributes['net.peer.name']::VARCHAR, TRUE
            )
            AND coalesce(later.attributes['rpc.method']::VARCHAR = failed.attributes['rpc.method']::VARCHAR, TRUE)
            AND coalesce(
                later.attributes['messaging.destination.name']::VARCHAR
                = failed.attributes['messaging.destination.name']::VARCHAR,
                TRUE
            )
            AND coalesce(
                later.attributes['gen_ai.tool.name']::VARCHAR = failed.attributes['gen_ai.tool.name']::VARCHAR, TRUE
            )
        )
        AND later.kind = failed.kind
        AND later.start_ns >= failed.end_ns
        AND later.span_row != failed.span_row
),
-- Who says that it is a repetition, follows the last one of its kind that ended before.
resent AS (
    SELECT
        earlier.span_row,
        earlier.trace_no,
        earlier.span_id,
        earlier.parent_span_id,
        earlier.name,
        earlier.end_ns,
        again.start_ns AS next_start_ns
    FROM statuses AS again
    INNER JOIN batch_spans AS earlier
        ON earlier.trace_no = again.trace_no
        AND earlier.parent_span_id = again.parent_span_id
        AND earlier.kind = again.kind
        AND earlier.end_ns <= again.start_ns
        AND earlier.span_row != again.span_row
    WHERE again.resend_count > 0
        AND coalesce(
            TRY_CAST(
                coalesce(
                    earlier.attributes['http.request.resend_count'], earlier.attributes['http.resend_count']
                ) AS BIGINT
            ),
            0
        ) = again.resend_count - 1
    QUALIFY row_number() OVER (
        PARTITION BY again.span_row ORDER BY earlier.end_ns DESC, earlier.start_ns DESC, earlier.span_id
    ) = 1
),
resent_in_vain AS (
    SELECT resent.*
    FROM resent
    INNER JOIN batch_spans USING (span_row)
    ANTI JOIN first_token_events
        ON first_token_events.trace_id = batch_spans.trace_id AND first_token_events.span_id = batch_spans.span_id
    WHERE batch_spans.status_code = 2
        OR coalesce(
            TRY_CAST(
                coalesce(
                    batch_spans.attributes['http.response.status_code'], batch_spans.attributes['http.status_code']
                ) AS BIGINT
            ),
            500
        ) >= 400
),
repeated AS (
    SELECT span_row, trace_no, span_id, parent_span_id, name, end_ns, min(next_start_ns) AS next_start_ns
    FROM (FROM followed UNION ALL FROM resent_in_vain) AS found
    GROUP BY ALL
),
below (span_row, trace_no, span_id, name) AS (
    SELECT span_row, trace_no, span_id, name
    FROM repeated
    UNION
    SELECT child.span_row, child.trace_no, child.span_id, child.name
    FROM below
    INNER JOIN batch_spans AS child
        ON child.trace_no = below.trace_no AND child.parent_span_id = below.span_id
)
SELECT span_row, 0 AS part, 'retry' AS stage, name AS operation
FROM below
UNION ALL BY NAME
SELECT
    parent.span_row,
    1 AS part,
    'retry' AS stage,
    repeated.name || '/backoff' AS operation,
    repeated.end_ns AS start_ns,
    repeated.next_start_ns AS end_ns,
    repeated.span_row AS placed_by,
    'gap' AS source,
    'derived' AS quality
FROM repeated
INNER JOIN batch_spans AS parent
    ON parent.trace_no = repeated.trace_no AND parent.span_id = repeated.parent_span_id
WHERE repeated.end_ns < repeated.next_start_ns
