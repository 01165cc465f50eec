-- All spans of the requests that were not served, with what each tells about how it ended.
--
-- Reads request_endings, made by `goodput/said_endings.sql`, and ended_spans, made by `ended_spans.sql`; uses
-- the macros of `units/said_values.sql`.
-- Columns:
--   unit_id: the request.
--   trace_id, span_id, parent_span_id, name, kind, start_ns, end_ns, resource_id: of the span.
--   target: what was called, where the span says so; two calls are attempts of the same only with the same target.
--   is_root: whether it is the request's own span.
--   is_cancelled: whether it ended because somebody stopped waiting.
--   is_error: whether it ended badly, cancelled apart.
--   is_specific: whether it tells what kind of error it was, and not only that it was one.
--   is_timeout: whether it ended because a time was up.
--   says_ok: whether it says that it ended well.
--   failed_ns: when it failed: its exception, else its end; nanoseconds since the epoch.
--   error_type: what it calls its error.
--   message: what it says about it.
--   callee: the service behind it, where the span names one.
WITH
requests AS (
    SELECT request_endings.unit_id, units.trace_id, units.root_span_id, units.start_ns, units.end_ns
    FROM request_endings
    INNER JOIN base.units AS units USING (unit_id)
),
-- Their traces: that of the request, and those that are part of it.
request_traces AS (
    SELECT unit_id, root_span_id, trace_id
    FROM requests
    UNION
    SELECT requests.unit_id, requests.root_span_id, joined_spans.trace_id
    FROM requests
    INNER JOIN base.joined_spans ON joined_spans.request_trace_id = requests.trace_id
),
raised AS (
    SELECT
        span_events.trace_id,
        span_events.span_id,
        min(span_events.time_ns) AS raised_ns,
        arg_max(span_events.attributes['exception.type']::VARCHAR, span_events.event_index) AS exception_type,
        arg_max(span_events.attributes['exception.message']::VARCHAR, span_events.event_index) AS exception_message
    FROM base.span_events
    SEMI JOIN request_traces USING (trace_id)
    WHERE span_events.name = 'exception'
    GROUP BY ALL
),
-- Attributes are taken apart once the few spans that matter are together: among all others that is slow.
own AS MATERIALIZED (
    SELECT
        request_traces.unit_id,
        request_traces.root_span_id,
        spans.trace_id,
        spans.span_id,
        coalesce(joined_spans.parent_span_id, spans.parent_span_id) AS parent_span_id,
        spans.name,
        spans.kind,
        spans.start_ns,
        spans.end_ns,
        spans.resource_id,
        spans.status_code,
        spans.status_message,
        spans.attributes
    FROM ended_spans AS spans
    INNER JOIN request_traces USING (trace_id)
    LEFT JOIN base.joined_spans
        ON joined_spans.trace_id = spans.trace_id AND joined_spans.span_id = spans.span_id
),
said AS MATERIALIZED (
    SELECT
        spans.unit_id,
        spans.trace_id,
        spans.span_id,
        spans.parent_span_id,
        spans.name,
        spans.kind,
        spans.start_ns,
        spans.end_ns,
        spans.resource_id,
        spans.status_code,
        spans.status_message,
        coalesce(
            spans.attributes['url.full']::VARCHAR,
            spans.attributes['http.url']::VARCHAR,
            spans.attributes['server.address']::VARCHAR
        ) AS target,
        coalesce(spans.span_id = spans.root_span_id, FALSE) AS is_root,
        raised.raised_ns,
        raised.exception_type,
        raised.exception_message,
        spans.attributes['error.type']::VARCHAR AS error_type,
        coalesce(
            TRY_CAST(spans.attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(spans.attributes['http.status_code'] AS BIGINT),
            TRY_CAST(spans.attributes['error.type']::VARCHAR AS BIGINT),
            CASE WHEN spans.status_code = 2 THEN said_http_status(left(raised.exception_message, 300)) END
        ) AS http_status,
        coalesce(
            said_grpc_status(spans.attributes['rpc.grpc.status_code']::VARCHAR),
            said_grpc_status(spans.attributes['rpc.response.status_code']::VARCHAR)
        ) AS grpc_status,
        coalesce(
            spans.attributes['peer.service']::VARCHAR,
            spans.attributes['gen_ai.provider.name']::VARCHAR,
            spans.attributes['gen_ai.system']::VARCHAR,
            spans.attributes['server.address']::VARCHAR,
            spans.attributes['net.peer.name']::VARCHAR,
            -- Of an address, the host and its port; a name and password in front of them are nobody's business.
            nullif(
                regexp_extract(
                    coalesce(spans.attributes['url.full']::VARCHAR, spans.attributes['http.url']::VARCHAR),
                    '^[a-zA-Z][a-zA-Z0-9+.-]*://([^/?#@]*@)?([^/?#]+)',
                    2
                ),
                ''
            )
        ) AS callee
    FROM own AS spans
    LEFT JOIN raised ON raised.trace_id = spans.trace_id AND raised.span_id = spans.span_id
),
worded AS MATERIALIZED (
    SELECT
        *,
        lower(concat_ws(' ', error_type, exception_type)) AS types,
        -- Messages may go on with a stack trace, which names much that did not happen.
        lower(concat_ws(
            ' ', types, left(coalesce(exception_message, CASE WHEN status_code = 2 THEN status_message END), 200)
        )) AS words
    FROM said
),
decided AS (
    SELECT
        *,
        coalesce(
            http_status = 499 OR grpc_status = 1
            OR regexp_matches(
                types, 'cancel|client_?disconnect|stream_drop|generatorexit|(^|user_?|[. ])abort_?error( |$)'
            )
            OR exception_type = '20' AND contains(words, 'abort')
            OR status_code = 2 AND ends_with(status_message, 'context canceled'),
            FALSE
        ) AS is_cancelled,
        coalesce(http_status >= 400 OR grpc_status > 0, FALSE) AS has_bad_code,
        coalesce(http_status BETWEEN 200 AND 399, status_code = 1) AND status_code != 2 AS says_ok
    FROM worded
)
SELECT
    unit_id,
    trace_id,
    span_id,
    parent_span_id,
    name,
    kind,
    start_ns,
    end_ns,
    resource_id,
    target,
    is_root,
    is_cancelled,
    NOT is_cancelled
    AND (
        status_code = 2 OR has_bad_code
        OR NOT says_ok AND coalesce(raised_ns IS NOT NULL OR regexp_matches(error_type, '\S'), FALSE)
    ) AS is_error,
    coalesce(raised_ns IS NOT NULL OR has_bad_code OR regexp_matches(error_type, '\S'), FALSE) AS is_specific,
    coalesce(
        http_status IN (408, 504, 524, 598, 599) OR grpc_status = 4
        OR regexp_matches(
            words, 'time[-_ ]?d?[-_ ]?out|timed[-_ ]?out|deadline[-_ ]?exceeded|net/http: request canceled'
        ),
        FALSE
    ) AS is_timeout,
    says_ok,
    least(coalesce(raised_ns, end_ns), end_ns) AS failed_ns,
    -- A bare Exception without a word, as gRPC's server in Python raises it, says less than the status.
    coalesce(
        error_type,
        CASE WHEN NOT (exception_type = 'Exception' AND coalesce(exception_message, '') = '') THEN exception_type END,
        'HTTP ' || http_status,
        'gRPC ' || grpc_status,
        exception_type
    ) AS error_type,
    coalesce(nullif(exception_message, ''), status_message) AS message,
    CASE WHEN kind IN (3, 4) THEN callee END AS callee
FROM decided
