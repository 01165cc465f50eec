-- Stores the histogram points of the registered table `incoming_points` that the store does not hold.
--
-- A point is the same when series, time and everything else agree; the same one is stored once.
--
-- Parameters:
--   $ingest_id: the ingest they belong to.
-- Columns:
--   count: points stored.
INSERT INTO base.metric_histograms
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
                coalesce(sum::VARCHAR, '-'),
                coalesce(min::VARCHAR, '-'),
                coalesce(max::VARCHAR, '-'),
                coalesce(explicit_bounds::VARCHAR, '-'),
                coalesce(bucket_counts::VARCHAR, '-'),
                coalesce(scale::VARCHAR, '-'),
                coalesce(zero_count::VARCHAR, '-'),
                coalesce(zero_threshold::VARCHAR, '-'),
                coalesce(positive_offset::VARCHAR, '-'),
                coalesce(positive_counts::VARCHAR, '-'),
                coalesce(negative_offset::VARCHAR, '-'),
                coalesce(negative_counts::VARCHAR, '-')
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
    min,
    max,
    explicit_bounds,
    bucket_counts,
    scale,
    zero_count,
    zero_threshold,
    positive_offset,
    positive_counts,
    negative_offset,
    negative_counts,
    content_hash,
    $ingest_id AS ingest_id
FROM distinct_points
ANTI JOIN base.metric_histograms USING (stream_id, time_ns, content_hash)
ORDER BY stream_id, time_ns, row
