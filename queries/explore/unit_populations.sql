-- Which services, models and jobs have units, to choose from.
--
-- Columns:
--   kind: request or step.
--   service_name: service of the units, NULL where none is known.
--   model: model that the requests asked for, NULL where none is known.
--   job_id: training job, NULL for requests.
--   unit_count: number of units.
SELECT
    kind,
    service_name,
    model,
    job_id,
    count(*) AS unit_count
FROM units
GROUP BY ALL
ORDER BY kind, unit_count DESC, service_name, model, job_id
