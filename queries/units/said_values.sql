-- What the text of an attribute says as a number: NULL where the span does not have the attribute, and a value that no
-- count or duration can be (-1, NaN) where the text is no number, so that it is set aside and counted like any other
-- impossible value.
--
-- A status of gRPC is a number (`rpc.grpc.status_code`), or its name (`rpc.response.status_code`), which languages write
-- as `RESOURCE_EXHAUSTED` or `ResourceExhausted`; NULL for what is no status.
--
-- Clients write the status of HTTP into the messages of their exceptions, each in its own way: `Error code: 429 - ...`,
-- `Client error '429 ...`, `429 Client Error: `, `429, message=`, `HTTP Error 429: `, `429 RESOURCE_EXHAUSTED. `,
-- `status code: 429`, `Status 429`; NULL for a message that has none.
--
-- `said` is the text of the attribute, or the message.
CREATE OR REPLACE TEMP MACRO said_http_status(said) AS
TRY_CAST(
    coalesce(
        nullif(
            regexp_extract(
                said,
                '(?:\bError code: |\b(?:Client|Server) error ''|\bHTTP Error |\b[Ss]tatus(?:[ _]?code)?:? )([45][0-9][0-9])\b',
                1
            ),
            ''
        ),
        regexp_extract(said, '(?:^|Error: )([45][0-9][0-9])(?: (?:Client|Server) Error: |, message=| [A-Z_]+[.] )', 1)
    ) AS BIGINT
);
CREATE OR REPLACE TEMP MACRO said_count(said) AS
CASE WHEN said IS NOT NULL THEN coalesce(TRY_CAST(said AS BIGINT), -1) END;
CREATE OR REPLACE TEMP MACRO said_number(said) AS
CASE WHEN said IS NOT NULL THEN coalesce(TRY_CAST(said AS DOUBLE), 'NaN'::DOUBLE) END;
CREATE OR REPLACE TEMP MACRO said_grpc_status(said) AS
coalesce(
    TRY_CAST(said AS BIGINT),
    nullif(
        list_position(
            [
                'OK', 'CANCELLED', 'UNKNOWN', 'INVALIDARGUMENT', 'DEADLINEEXCEEDED', 'NOTFOUND', 'ALREADYEXISTS',
                'PERMISSIONDENIED', 'RESOURCEEXHAUSTED', 'FAILEDPRECONDITION', 'ABORTED', 'OUTOFRANGE', 'UNIMPLEMENTED',
                'INTERNAL', 'UNAVAILABLE', 'DATALOSS', 'UNAUTHENTICATED'
            ],
            translate(upper(said), '_', '')
        ),
        0
    ) - 1
)
