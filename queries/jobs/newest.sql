-- The last ingest that anything about jobs may have come with.
--
-- Columns:
--   built: last ingest that is in the units of jobs, -1 for none.
--   newest: last ingest with spans, logs or metric points, -1 for none.
SELECT
    coalesce((SELECT max(ingest_id) FROM base.jobs_built_through), -1)::BIGINT AS built,
    coalesce(greatest(
        (SELECT max(ingest_id) FROM base.spans),
        (SELECT max(ingest_id) FROM base.logs),
        (SELECT max(ingest_id) FROM base.metric_points)
    ), -1)::BIGINT AS newest
