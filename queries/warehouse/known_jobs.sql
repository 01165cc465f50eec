-- Training jobs whose processes have spans in the traces of a warehouse.
--
-- Columns:
--   name: the job, '' for a nameless one.
--   trace_id: 16 bytes.
WITH
processes AS (
    SELECT resource_id, coalesce(job_id, '') AS job_id
    FROM base.resources
    WHERE job_id IS NOT NULL OR attempt IS NOT NULL OR rank IS NOT NULL
)
SELECT DISTINCT processes.job_id AS name, unhex(replace(spans.trace_id::VARCHAR, '-', '')) AS trace_id
FROM base.spans
INNER JOIN processes USING (resource_id)
