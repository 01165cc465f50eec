-- How each request that was not served ended, finer than its outcome: by what the client was told, and where the
-- client was told no kind of error, by the last error that a span of the request tells.
--
-- 429 and quotas are the caller's limit (rejected), 503 and overload are the service's (shed). A time-out is what
-- HTTP (408, 504, 598, 524 of a proxy), gRPC (4) or the type of the error calls one.
--
-- Reads request_selection.
-- Columns:
--   unit_id: the request; those with outcome ok or unknown have no row.
--   ending: rejected, shed, invalid, failed, timed_out, aborted_before or aborted_after (the first token).
WITH
ended AS MATERIALIZED (
    SELECT
        selection.unit_id,
        units.trace_id,
        units.root_span_id,
        units.start_ns,
        units.outcome,
        units.first_token_ns
    FROM request_selection AS selection
    INNER JOIN base.units AS units USING (unit_id)
    WHERE units.outcome NOT IN ('ok', 'unknown')
),
unsure AS MATERIALIZED (
    SELECT * FROM ended WHERE outcome IN ('failed', 'rejected')
),
raised AS (
    SELECT
        span_events.trace_id,
        span_events.span_id,
        string_agg(span_events.attributes['exception.type']::VARCHAR, ' ') AS exception_types,
        any_value(span_events.attributes['exception.message']::VARCHAR) AS exception_message
    FROM base.span_events
    SEMI JOIN unsure USING (trace_id)
    WHERE span_events.name = 'exception'
    GROUP BY ALL
),
said AS (
    SELECT
        unsure.unit_id,
        spans.span_id = unsure.root_span_id AS is_root,
        spans.end_ns,
        lower(concat_ws(' ', spans.attributes['error.type']::VARCHAR, raised.exception_types)) AS types,
        -- Messages may go on with a stack trace, which names much that did not happen.
        lower(left(
            coalesce(raised.exception_message, CASE WHEN spans.status_code = 2 THEN spans.status_message END), 200
        )) AS message,
        concat_ws(' ', types, message) AS words,
        coalesce(
            TRY_CAST(spans.attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(spans.attributes['http.status_code'] AS BIGINT),
            TRY_CAST(spans.attributes['error.type']::VARCHAR AS BIGINT)
        ) AS http_status,
        TRY_CAST(spans.attributes['rpc.grpc.status_code'] AS BIGINT) AS grpc_status
    FROM base.spans AS spans
    INNER JOIN unsure USING (trace_id)
    LEFT JOIN raised ON raised.trace_id = spans.trace_id AND raised.span_id = spans.span_id
    WHERE spans.status_code = 2
        OR raised.span_id IS NOT NULL
        OR spans.span_id = unsure.root_span_id
        OR spans.attributes['error.type'] IS NOT NULL
),
kinds AS (
    SELECT
        unit_id,
        is_root,
        end_ns,
        CASE
            WHEN http_status IN (408, 504, 524, 598) OR grpc_status = 4 THEN 'timed_out'
            WHEN http_status = 429 OR grpc_status = 8 THEN 'rejected'
            WHEN http_status = 503 OR grpc_status = 14 THEN 'shed'
            WHEN http_status >= 400 OR grpc_status > 0 THEN 'failed'
            WHEN regexp_matches(words, 'time[-_ ]?d?[-_ ]?out|timed[-_ ]?out|deadline[-_ ]?exceeded')
                THEN 'timed_out'
            WHEN regexp_matches(words, 'rate[-_ ]?limit|too[-_ ]?many[-_ ]?requests|quota|429')
                THEN 'rejected'
            WHEN regexp_matches(words, 'overload|unavailable|resource[-_ ]?exhausted|rejected|503') THEN 'shed'
            WHEN regexp_matches(types, '\S') THEN 'failed'
        END AS kind
    FROM said
),
told AS (
    SELECT
        unit_id,
        -- What the client was told counts; of the spans inside, the last one that tells.
        arg_max(kind, (is_root, end_ns)) FILTER (WHERE kind IS NOT NULL AND is_root) AS root_kind,
        arg_max(kind, end_ns) FILTER (WHERE kind IS NOT NULL AND NOT is_root) AS inner_kind
    FROM kinds
    GROUP BY unit_id
)
SELECT
    ended.unit_id,
    CASE
        WHEN ended.outcome = 'aborted' AND ended.first_token_ns IS NULL THEN 'aborted_before'
        WHEN ended.outcome = 'aborted' THEN 'aborted_after'
        WHEN ended.outcome = 'invalid' THEN 'invalid'
        ELSE coalesce(told.root_kind, told.inner_kind, ended.outcome)
    END AS ending
FROM ended
LEFT JOIN told USING (unit_id)
