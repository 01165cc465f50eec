-- Accelerators as the scheduler granted them: events `granted` of a job's spans.
--
-- Reads job_resources.
-- Parameters:
--   $job: the job.
-- Columns:
--   span_id: span that has the event, as a number.
--   time_ns: when, nanoseconds since the epoch.
--   host: who granted them, NULL where unknown.
--   accelerators: how many were granted then.
SELECT
    spans.span_id,
    events.time_ns,
    job_resources.host,
    TRY_CAST(events.attributes['accelerators'] AS INTEGER) AS accelerators
FROM base.span_events AS events
INNER JOIN base.spans USING (trace_id, span_id)
INNER JOIN job_resources USING (resource_id)
WHERE job_resources.job_id = $job AND events.name = 'granted'
    AND TRY_CAST(events.attributes['accelerators'] AS INTEGER) > 0
