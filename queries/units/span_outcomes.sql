-- How spans say that they ended.
--
-- A known status decides first: HTTP (499 is nginx's code for a client that went away), then gRPC.
-- A number as `error.type` is an HTTP status. A status that tells of success says only how the
-- answer began: a stream that broke later has an error type or the status ERROR beside it, and
-- these decide then, the type before the status. A span with the status ERROR and without type or
-- status of failure tells by the exception that it recorded, or by the message of its status; exceptions of other
-- spans were handled. Who disconnects matters: a client that leaves is an abort, a server or worker that does
-- is a failure.
--
-- Envoy's `response_flags` tell more than its status, which is 0, or that of an answer that had begun, where the client left
-- (DC), and 503 both for its own limit (UO) and for an upstream that was not there or broke (UF, UC, UH, URX, LR, UT).
--
-- aiohttp's server raises ClientConnectionResetError where it writes to a client that is gone, or cancels its handler,
-- which then has neither status nor error. In Node, what a handler awaits for a client that is gone ends by an AbortError
-- at or after the end of the server's span, which says 200 all the same.
--
-- In Go a call is called off by the message `context canceled` where the context of the request ended, which a server's
-- does when its client leaves; what the server writes then (502) nobody reads, if that is all it did after it.
--
-- A library that passes an error of HTTP on as one of its own (AI_APICallError, RetryError) ends as the call below it
-- that failed last.
--
-- ASGI applications get `http.disconnect` when the client is gone, or when the response is
-- complete. A server that is still at work then has lost its client; and a server span that had
-- sent a good status and then lost a connection, by its exception or error type, has lost that of
-- its client.
--
-- Made into the temporary table `batch_outcomes`. Reads batch_spans, error_events, base.spans (messages of statuses).
-- Columns:
--   span_row: the span; spans that say nothing have no row.
--   outcome: ok, aborted, rejected, invalid or failed.
WITH RECURSIVE
left_alone AS (
    SELECT DISTINCT server.span_row
    FROM batch_spans AS server
    INNER JOIN batch_spans AS received
        ON received.trace_no = server.trace_no AND received.parent_span_id = server.span_id
    WHERE server.kind = 2
        AND received.attributes['asgi.event.type']::VARCHAR = 'http.disconnect'
        AND received.end_ns < server.end_ns
    UNION
    SELECT server.span_row
    FROM batch_spans AS server
    INNER JOIN error_events USING (trace_id, span_id)
    -- A connection to somebody else that broke is an error of the call.
    ANTI JOIN batch_spans AS call
        ON call.trace_no = server.trace_no AND call.parent_span_id = server.span_id
        AND call.kind = 3 AND call.status_code = 2
    WHERE server.kind = 2 AND ends_with(error_events.exception_type, 'clientconnectionreseterror')
    UNION
    SELECT server.span_row
    FROM batch_spans AS server
    INNER JOIN batch_spans AS handler
        ON handler.trace_no = server.trace_no AND handler.parent_span_id = server.span_id
        AND handler.resource_id = server.resource_id AND handler.end_ns >= server.end_ns
    INNER JOIN error_events ON error_events.trace_id = handler.trace_id AND error_events.span_id = handler.span_id
    WHERE server.kind = 2 AND handler.kind IN (0, 1) AND handler.status_code = 2
        AND error_events.exception_type = 'aborterror'
    UNION
    SELECT server.span_row
    FROM batch_spans AS server
    ANTI JOIN error_events USING (trace_id, span_id)
    WHERE server.kind = 2 AND server.scope_name = 'opentelemetry.instrumentation.aiohttp_server'
        AND server.status_code = 0
        AND coalesce(
            server.attributes['http.response.status_code'], server.attributes['http.status_code']
        ) IS NULL
),
-- Spans of libraries whose error only wraps that of a call below them.
wrappers AS (
    SELECT batch_spans.span_row, batch_spans.trace_no, batch_spans.span_id, batch_spans.parent_span_id
    FROM batch_spans
    INNER JOIN error_events USING (trace_id, span_id)
    WHERE batch_spans.status_code = 2 AND batch_spans.kind != 2
        AND regexp_matches(error_events.exception_type, '(retry|api_?call|api_?status)_?error$')
        AND error_events.http_status IS NULL
),
passed_on AS (
    SELECT
        wrappers.span_row,
        wrappers.trace_no,
        wrappers.parent_span_id,
        call.end_ns,
        coalesce(
            TRY_CAST(call.attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(call.attributes['http.status_code'] AS BIGINT)
        ) AS http_status
    FROM wrappers
    INNER JOIN batch_spans AS call
        ON call.trace_no = wrappers.trace_no AND call.parent_span_id = wrappers.span_id
        AND call.kind = 3 AND call.status_code = 2
    -- UNION, not UNION ALL: a cycle of parents ends where it began.
    UNION
    SELECT wrappers.span_row, wrappers.trace_no, wrappers.parent_span_id, passed_on.end_ns, passed_on.http_status
    FROM passed_on
    INNER JOIN wrappers
        ON wrappers.trace_no = passed_on.trace_no AND wrappers.span_id = passed_on.parent_span_id
),
wrapped AS (
    SELECT span_row, arg_max(http_status, end_ns) AS http_status
    FROM passed_on
    GROUP BY span_row
),
-- Instrumentation that records no exceptions has their messages in the status.
described AS (
    SELECT
        spans.rowid AS span_row,
        said_http_status(left(spans.status_message, 300)) AS http_status,
        ends_with(spans.status_message, 'context canceled') AS is_called_off
    FROM base.spans AS spans
    SEMI JOIN (SELECT span_row FROM batch_spans WHERE status_code = 2) AS ended_badly
        ON ended_badly.span_row = spans.rowid
    WHERE spans.status_code = 2 AND spans.status_message IS NOT NULL
        AND spans.start_ns BETWEEN getvariable('batch_first_ns') AND getvariable('batch_last_ns')
),
called_off AS (
    SELECT span_row
    FROM described
    WHERE is_called_off
    UNION
    SELECT server.span_row
    FROM (SELECT span_row FROM described WHERE is_called_off) AS cancelled
    INNER JOIN batch_spans AS call USING (span_row)
    INNER JOIN batch_spans AS server
        ON server.trace_no = call.trace_no AND server.span_id = call.parent_span_id
        AND server.resource_id = call.resource_id
        AND server.end_ns - call.end_ns <= 10000000
    WHERE server.kind = 2 AND server.status_code = 2
),
said AS (
    SELECT
        batch_spans.span_row,
        batch_spans.kind,
        batch_spans.status_code,
        lower(batch_spans.attributes['error.type']::VARCHAR) AS told_type,
        error_events.exception_type,
        CASE
            WHEN batch_spans.status_code = 2 AND NOT regexp_matches(told_type, '^[0-9]+$')
                AND error_events.exception_type IS NOT NULL
                THEN concat_ws(' ', told_type, error_events.exception_type)
            ELSE coalesce(
                told_type,
                CASE WHEN batch_spans.status_code = 2 THEN error_events.exception_type END
            )
        END AS error_type,
        coalesce(
            TRY_CAST(batch_spans.attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(batch_spans.attributes['http.status_code'] AS BIGINT),
            TRY_CAST(told_type AS BIGINT),
            CASE WHEN batch_spans.status_code = 2 THEN error_events.http_status END,
            described.http_status,
            wrapped.http_status
        ) AS http_status,
        coalesce(
            said_grpc_status(batch_spans.attributes['rpc.grpc.status_code']),
            said_grpc_status(batch_spans.attributes['rpc.response.status_code']),
            CASE WHEN batch_spans.status_code = 2 AND error_events.http_status IS NULL
                THEN error_events.grpc_status END
        ) AS grpc_status,
        left_alone.span_row IS NOT NULL AS is_left_alone,
        called_off.span_row IS NOT NULL AS is_called_off,
        CASE
            WHEN batch_spans.attributes['component']::VARCHAR = 'proxy'
                THEN string_split(batch_spans.attributes['response_flags']::VARCHAR, ',')
        END AS envoy_flags
    FROM batch_spans
    LEFT JOIN error_events USING (trace_id, span_id)
    LEFT JOIN left_alone USING (span_row)
    LEFT JOIN wrapped USING (span_row)
    LEFT JOIN described USING (span_row)
    LEFT JOIN called_off USING (span_row)
),
decided AS (
    SELECT
        span_row,
        CASE
            WHEN http_status = 499 OR grpc_status = 1 OR is_called_off THEN 'aborted'
            WHEN list_has_any(envoy_flags, ['DC', 'DR']) THEN 'aborted'
            WHEN list_has_any(envoy_flags, ['UF', 'UC', 'UH', 'URX', 'LR', 'UT', 'UPE', 'NC']) THEN 'failed'
            WHEN http_status IN (429, 503) THEN 'rejected'
            WHEN http_status = 408 OR http_status >= 500 THEN 'failed'
            WHEN http_status BETWEEN 400 AND 498 THEN 'invalid'
            WHEN grpc_status IN (8, 14) THEN 'rejected'
            WHEN grpc_status IN (3, 5, 6, 7, 9, 11, 12, 16) THEN 'invalid'
            WHEN grpc_status > 0 THEN 'failed'
            WHEN is_left_alone THEN 'aborted'
            WHEN regexp_matches(
                error_type,
                'client_?disconnect|cancel|stream_drop|generatorexit|broken_?pipe|(^|user_?|[. ])abort_?error( |$)'
            ) THEN 'aborted'
            WHEN kind = 2 AND http_status < 400 AND regexp_matches(
                error_type, '(^|[. ])connection(reset|aborted)?error$'
            ) THEN 'aborted'
            WHEN regexp_matches(
                error_type,
                'overload|resource_?exhausted|rate[ _]?limit|too_?many_?requests|rejected|throttl'
            ) THEN 'rejected'
            WHEN regexp_matches(
                error_type,
                'bad_?request_?error|authentication_?error|permission_?denied_?error|not_?found_?error'
                '|unprocessable|invalid_?request|context_?window_?exceeded|content_?policy'
            ) AND NOT regexp_matches(error_type, 'file_?not_?found|module_?not_?found') THEN 'invalid'
            WHEN status_code = 2 OR regexp_matches(error_type, '\D') THEN 'failed'
            WHEN http_status BETWEEN 100 AND 399 OR grpc_status = 0 OR status_code = 1 THEN 'ok'
        END AS outcome
    FROM said
)
SELECT *
FROM decided
WHERE outcome IS NOT NULL
