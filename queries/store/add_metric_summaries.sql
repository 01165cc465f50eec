-- Stores the summary points of the registered table `incoming_points` that the store does not hold.
--
-- A point is the same when series, time and everything else agree; the same one is stored once.
--
-- Parameters:
--   $ingest_id: the ingest they belong to.
-- Columns:
--   count: points stored.
INSERT INTO base.metric_summaries
WITH
hashed AS (
    SELECT
        *,
        md5_number_lower(
            concat_ws(
                ' ',
                coalesce(start_ns::VARCHAR, '-'),
                flags::VARCHAR,
                count::VARCHAR,
                sum::VARCHAR,
                coalesce(quantiles::VARCHAR, '-'),
                coalesce(values::VARCHAR, '-')
            )
        ) AS content_hash
    FROM incoming_points
),

distinct_points AS (
    SELECT *
    FROM hashed
    QUALIFY row_number() OVER (PARTITION BY stream_id, time_ns, content_hash ORDER BY row) = 1
)

SELECT
    stream_id,
    start_ns,
    time_ns,
    flags,
    count,
    sum,
    quantiles,
    values AS quantile_values,
    content_hash,
    $ingest_id AS ingest_id
FROM distinct_points
ANTI JOIN base.metric_summaries USING (stream_id, time_ns, content_hash)
ORDER BY stream_id, time_ns, row
