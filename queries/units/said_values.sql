-- What the text of an attribute says as a number: NULL where the span does not have the attribute, and a value that no
-- count or duration can be (-1, NaN) where the text is no number, so that it is set aside and counted like any other
-- impossible value.
--
-- A status of gRPC is a number (`rpc.grpc.status_code`), or its name (`rpc.response.status_code`), which languages write
-- as `RESOURCE_EXHAUSTED` or `ResourceExhausted`; NULL for what is no status.
--
-- `said` is the text of the attribute.
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
