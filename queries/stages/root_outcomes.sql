-- How requests ended, by what their root spans say.
--
-- HTTP status first, then gRPC status, then the span's own status and error type. 499 is nginx's
-- code for a client that went away. NULL where the root does not say.
--
-- Reads batch_spans and batch_roots (span_row).
-- Columns:
--   span_row: the root.
--   outcome: ok, aborted, rejected, invalid, failed or NULL.
WITH
said AS (
    SELECT
        span_row,
        status_code,
        TRY_CAST(
            coalesce(
                attributes['http.response.status_code'], attributes['http.status_code']
            ) AS BIGINT
        ) AS http_status,
        TRY_CAST(attributes['rpc.grpc.status_code'] AS BIGINT) AS grpc_status,
        lower(attributes['error.type']::VARCHAR) AS error_type
    FROM batch_spans
    SEMI JOIN batch_roots USING (span_row)
)
SELECT
    span_row,
    CASE
        WHEN http_status = 499 OR grpc_status = 1 THEN 'aborted'
        WHEN regexp_matches(error_type, 'cancel|abort|disconnect') THEN 'aborted'
        WHEN http_status IN (429, 503) OR grpc_status IN (8, 14) THEN 'rejected'
        WHEN http_status BETWEEN 400 AND 498 OR grpc_status IN (3, 5, 6, 7, 9, 11, 12, 16)
            THEN 'invalid'
        WHEN http_status >= 500 OR grpc_status IN (2, 4, 10, 13, 15) OR status_code = 2
            THEN 'failed'
        WHEN http_status BETWEEN 100 AND 399 OR grpc_status = 0 OR status_code = 1 THEN 'ok'
    END AS outcome
FROM said
