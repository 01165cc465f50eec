-- What the manifest tells of a part: the time of its spans, and whether training jobs have some of them.
--
-- Columns:
--   first_ns: when the first span begins, NULL without spans.
--   last_ns: when the last one ends.
--   has_jobs: whether processes of training jobs have spans.
WITH
processes AS (
    SELECT resource_id
    FROM base.resources
    WHERE job_id IS NOT NULL OR attempt IS NOT NULL OR rank IS NOT NULL
)
SELECT
    min(least(start_ns, end_ns)) AS first_ns,
    max(greatest(start_ns, end_ns)) AS last_ns,
    coalesce(bool_or(resource_id IN (SELECT resource_id FROM processes)), FALSE) AS has_jobs
FROM base.spans
