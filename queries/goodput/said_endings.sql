-- How each request that was not served ended, finer than its outcome: by the status that the client got, and where
-- there is none, by what its own span says, else by the last span inside that failed or saw an exception.
--
-- 429 and quotas are the caller's limit (rejected), 503 and overload are the service's (shed). A time-out is what
-- HTTP (408, 504, 598, 599, 524 of a proxy), gRPC (4) or the type of the error calls one.
--
-- Reads request_selection and ended_spans: spans, of which those of these requests are looked at; uses the macros
-- of `units/said_values.sql`.
-- Columns:
--   unit_id: the request; those with outcome ok or unknown have no row.
--   ending: rejected, shed, invalid, failed, timed_out, aborted_before or aborted_after (the first token).
WITH
ended AS MATERIALIZED (
    SELECT
        unit_id,
        outcome,
        first_token_ns IS NULL AS has_no_token,
        attributes
    FROM request_selection
    WHERE outcome NOT IN ('ok', 'unknown')
),
coded AS MATERIALIZED (
    SELECT
        unit_id,
        outcome,
        has_no_token,
        coalesce(
            TRY_CAST(attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(attributes['http.status_code'] AS BIGINT),
            TRY_CAST(attributes['error.type']::VARCHAR AS BIGINT)
        ) AS http_status,
        coalesce(
            said_grpc_status(attributes['rpc.grpc.status_code']::VARCHAR),
            said_grpc_status(attributes['rpc.response.status_code']::VARCHAR)
        ) AS grpc_status,
        CASE
            WHEN http_status IN (408, 504, 524, 598, 599) OR grpc_status = 4 THEN 'timed_out'
            WHEN http_status = 429 OR grpc_status = 8 THEN 'rejected'
            WHEN outcome != 'failed' AND (http_status = 503 OR grpc_status = 14) THEN 'shed'
            WHEN http_status >= 400 OR grpc_status > 0 THEN 'failed'
        END AS kind
    FROM ended
),
unsure AS MATERIALIZED (
    SELECT coded.unit_id, units.trace_id, units.root_span_id
    FROM coded
    INNER JOIN base.units AS units USING (unit_id)
    WHERE coded.kind IS NULL AND coded.outcome IN ('failed', 'rejected')
),
raised AS MATERIALIZED (
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
-- Attributes are taken apart once the few spans that matter are together: among all others that is slow.
own AS MATERIALIZED (
    SELECT
        unsure.unit_id,
        spans.span_id = unsure.root_span_id AS is_root,
        spans.trace_id,
        spans.span_id,
        spans.end_ns,
        spans.status_code,
        spans.status_message,
        spans.attributes
    FROM ended_spans AS spans
    INNER JOIN unsure USING (trace_id)
),
said AS MATERIALIZED (
    SELECT
        own.unit_id,
        own.is_root,
        own.end_ns,
        lower(concat_ws(' ', own.attributes['error.type']::VARCHAR, raised.exception_types)) AS types,
        -- Messages may go on with a stack trace, which names much that did not happen.
        lower(left(
            coalesce(raised.exception_message, CASE WHEN own.status_code = 2 THEN own.status_message END), 200
        )) AS message,
        concat_ws(' ', types, message) AS words,
        coalesce(
            TRY_CAST(own.attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(own.attributes['http.status_code'] AS BIGINT),
            TRY_CAST(own.attributes['error.type']::VARCHAR AS BIGINT),
            said_http_status(message)
        ) AS http_status,
        coalesce(
            said_grpc_status(own.attributes['rpc.grpc.status_code']::VARCHAR),
            said_grpc_status(own.attributes['rpc.response.status_code']::VARCHAR)
        ) AS grpc_status
    FROM own
    LEFT JOIN raised USING (trace_id, span_id)
    WHERE own.status_code = 2 OR own.is_root OR raised.span_id IS NOT NULL
),
kinds AS MATERIALIZED (
    SELECT
        unit_id,
        is_root,
        end_ns,
        CASE
            WHEN http_status IN (408, 504, 524, 598, 599) OR grpc_status = 4 THEN 'timed_out'
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
        any_value(kinds.kind) FILTER (WHERE is_root) AS root_kind,
        arg_max(kinds.kind, end_ns) FILTER (WHERE kinds.kind IS NOT NULL AND NOT is_root) AS inner_kind
    FROM kinds
    INNER JOIN coded USING (unit_id)
    -- Whom nobody served because there was no room did not fail, whatever its client's library calls that.
    WHERE coded.outcome != 'rejected' OR kinds.kind IN ('rejected', 'shed')
    GROUP BY unit_id
)
SELECT
    coded.unit_id,
    CASE
        WHEN coded.outcome = 'aborted' AND coded.has_no_token THEN 'aborted_before'
        WHEN coded.outcome = 'aborted' THEN 'aborted_after'
        WHEN coded.outcome = 'invalid' THEN 'invalid'
        ELSE coalesce(coded.kind, told.root_kind, told.inner_kind, coded.outcome)
    END AS ending
FROM coded
LEFT JOIN told USING (unit_id)
