-- What exceptions say about the spans that recorded them: of several the last one counts.
--
-- Made into the temporary table `error_events`. Reads dirty_traces.
-- Columns:
--   trace_id, span_id: the span.
--   exception_type: class of the exception, in lower case. Where Node writes a DOMException's number, its name: 20 is
--     AbortError, 23 TimeoutError.
--   http_status: status that its message tells; NULL where it tells none.
--   grpc_status: status that its message tells, as the clients of gRPC write it: `StatusCode.INTERNAL` (Python),
--     `rpc error: code = Internal` (Go), `StatusRuntimeException: INTERNAL` (Java); NULL where it tells none.
SELECT
    span_events.trace_id,
    span_events.span_id,
    lower(
        arg_max(
            CASE
                WHEN span_events.attributes['exception.type']::VARCHAR = '20' THEN 'AbortError'
                WHEN span_events.attributes['exception.type']::VARCHAR = '23' THEN 'TimeoutError'
                ELSE span_events.attributes['exception.type']::VARCHAR
            END,
            span_events.event_index
        )
    ) AS exception_type,
    said_http_status(
        arg_max(left(span_events.attributes['exception.message']::VARCHAR, 300), span_events.event_index)
    ) AS http_status,
    said_grpc_status(
        regexp_extract(
            arg_max(
                concat_ws(
                    ': ',
                    span_events.attributes['exception.type']::VARCHAR,
                    left(span_events.attributes['exception.message']::VARCHAR, 200)
                ),
                span_events.event_index
            ),
            '(?:StatusCode\.|rpc error: code = |StatusRuntimeException: )([A-Za-z_]+)',
            1
        )
    ) AS grpc_status
FROM base.span_events
SEMI JOIN dirty_traces USING (trace_id)
WHERE span_events.name = 'exception'
GROUP BY span_events.trace_id, span_events.span_id
