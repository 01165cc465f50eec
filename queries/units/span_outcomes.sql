-- How spans say that they ended.
--
-- A known status decides first: HTTP (499 is nginx's code for a client that went away), then gRPC.
-- A number as `error.type` is an HTTP status. A status that tells of success says only how the
-- answer began: a stream that broke later has an error type or the status ERROR beside it, and
-- these decide then, the type before the status. Who disconnects matters: a client that leaves is
-- an abort, a server or worker that does is a failure.
--
-- Made into the temporary table `batch_outcomes`. Reads batch_spans.
-- Columns:
--   span_row: the span; spans that say nothing have no row.
--   outcome: ok, aborted, rejected, invalid or failed.
WITH
said AS (
    SELECT
        span_row,
        status_code,
        lower(attributes['error.type']::VARCHAR) AS error_type,
        coalesce(
            TRY_CAST(attributes['http.response.status_code'] AS BIGINT),
            TRY_CAST(attributes['http.status_code'] AS BIGINT),
            TRY_CAST(error_type AS BIGINT)
        ) AS http_status,
        TRY_CAST(attributes['rpc.grpc.status_code'] AS BIGINT) AS grpc_status
    FROM batch_spans
),
decided AS (
    SELECT
        span_row,
        CASE
            WHEN http_status = 499 OR grpc_status = 1 THEN 'aborted'
            WHEN http_status IN (429, 503) THEN 'rejected'
            WHEN http_status = 408 OR http_status >= 500 THEN 'failed'
            WHEN http_status BETWEEN 400 AND 498 THEN 'invalid'
            WHEN grpc_status IN (8, 14) THEN 'rejected'
            WHEN grpc_status IN (3, 5, 6, 7, 9, 11, 12, 16) THEN 'invalid'
            WHEN grpc_status > 0 THEN 'failed'
            WHEN regexp_matches(error_type, 'client_?disconnect|cancel|stream_drop') THEN 'aborted'
            WHEN regexp_matches(
                error_type, 'overload|resource_?exhausted|rate[ _]?limit|too_?many_?requests|rejected'
            ) THEN 'rejected'
            WHEN status_code = 2 OR regexp_matches(error_type, '\D') THEN 'failed'
            WHEN http_status BETWEEN 100 AND 399 OR grpc_status = 0 OR status_code = 1 THEN 'ok'
        END AS outcome
    FROM said
)
SELECT *
FROM decided
WHERE outcome IS NOT NULL
