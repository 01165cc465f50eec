-- Stores the exemplars of the registered table `incoming_points` that the store does not hold.
--
-- An exemplar is the same when series, time and everything else agree; the same one is stored once.
--
-- Parameters:
--   $ingest_id: the ingest they belong to.
-- Columns:
--   count: exemplars stored.
INSERT INTO base.exemplars
WITH
hashed AS (
    SELECT
        *,
        md5_number_lower(
            concat_ws(
                ' ',
                point_time_ns::VARCHAR,
                coalesce(value_int::VARCHAR, '-'),
                coalesce(value_double::VARCHAR, '-'),
                coalesce(trace_id::VARCHAR, '-'),
                coalesce(span_id::VARCHAR, '-'),
                coalesce(attributes, '-')
            )
        ) AS content_hash
    FROM incoming_points
),

distinct_exemplars AS (
    SELECT *
    FROM hashed
    QUALIFY row_number() OVER (PARTITION BY stream_id, time_ns, content_hash ORDER BY row) = 1
)

SELECT
    stream_id,
    point_time_ns,
    time_ns,
    value_int,
    value_double,
    trace_id,
    span_id,
    attributes::JSON::VARIANT AS attributes,
    content_hash,
    $ingest_id AS ingest_id
FROM distinct_exemplars
ANTI JOIN base.exemplars USING (stream_id, time_ns, content_hash)
ORDER BY stream_id, time_ns, row
