-- Stores the log records of the registered table `incoming_logs` that the store does not hold.
--
-- A record is the same when its resource and everything else agree; the same one is stored once.
--
-- Parameters:
--   $ingest_id: the ingest they belong to.
-- Columns:
--   count: records stored.
INSERT INTO base.logs
WITH
hashed AS (
    SELECT
        *,
        md5_number_lower(
            json_array(
                time_ns, observed_time_ns, severity_number, severity_text, event_name, body,
                trace_id::VARCHAR, span_id, scope_id, attributes, dropped_attributes_count, flags
            )::VARCHAR
        ) AS content_hash
    FROM incoming_logs
),

distinct_logs AS (
    SELECT *
    FROM hashed
    QUALIFY row_number() OVER (PARTITION BY resource_id, content_hash ORDER BY row) = 1
)

SELECT
    time_ns,
    observed_time_ns,
    severity_number,
    nullif(severity_text, '') AS severity_text,
    nullif(event_name, '') AS event_name,
    body::JSON::VARIANT AS body,
    trace_id,
    span_id,
    resource_id,
    scope_id,
    attributes::JSON::VARIANT AS attributes,
    dropped_attributes_count,
    flags,
    content_hash,
    $ingest_id AS ingest_id
FROM distinct_logs
ANTI JOIN base.logs USING (resource_id, content_hash)
ORDER BY row
