-- Requests or steps that a search finds, the slowest or the latest first.
--
-- Parameters:
--   $kind: request or step.
--   $text: what the name, the service, the model, the trace id or an attribute has in it, NULL for anything.
--   $service: their service, NULL for any.
--   $model: model that they asked for, NULL for any.
--   $tenant_key: key of the attribute that names their tenant, NULL where none is asked for.
--   $tenant: their tenant as text.
--   $job: their training job, NULL for any.
--   $operation: their name, NULL for any.
--   $attribute: key of an attribute that they have, NULL for none.
--   $value: its value as text, NULL for any.
--   $outcome: how they ended, NULL for any.
--   $least_ns: the shortest duration in nanoseconds.
--   $below_ns: durations from it on are left out, in nanoseconds; NULL for no limit.
--   $first_ns: those that start before it are left out, nanoseconds since the epoch; NULL for no limit.
--   $last_ns: those that start from it on are left out; NULL for no limit.
--   $stage: a stage that they spent time in, NULL for any.
--   $least_share: the least part of their time that the stage took, from 0 to 1.
--   $latest_first: whether the latest come first instead of the slowest.
--   $limit: number of units at most.
-- Columns:
--   start_ns: start of the unit, nanoseconds since the epoch.
--   service_name: service of the unit.
--   name: name of the unit.
--   model: model of the unit.
--   job_id: training job, NULL for requests.
--   attempt: attempt of the job.
--   step: number of the step.
--   rank: rank of the step.
--   outcome: how it ended.
--   e2e_ns: its duration in nanoseconds.
--   ttft_ns: time to its first token in nanoseconds.
--   stage_ns: its time in the stage in nanoseconds, NULL where none is asked for.
--   output_tokens: tokens that it made.
--   trace_id: trace of the unit, hexadecimal.
--   found_count: all units that the search finds.
WITH
stage_times AS (
    SELECT
        unit_id,
        sum(self_ns)::BIGINT AS stage_ns
    FROM unit_stages
    WHERE stage = $stage
    GROUP BY unit_id
)
SELECT
    units.start_ns,
    units.service_name,
    units.name,
    units.model,
    units.job_id,
    units.attempt,
    units.step,
    units.rank,
    units.outcome,
    units.e2e_ns,
    units.ttft_ns,
    stage_times.stage_ns,
    units.output_tokens,
    units.trace_id,
    count(*) OVER () AS found_count
FROM units
LEFT JOIN stage_times USING (unit_id)
WHERE
    units.kind = $kind
    AND ($service IS NULL OR units.service_name = $service)
    AND ($model::VARCHAR IS NULL OR units.model = $model)
    AND ($tenant_key::VARCHAR IS NULL OR units.attributes[$tenant_key]::VARCHAR = $tenant)
    AND ($job::VARCHAR IS NULL OR units.job_id = $job)
    AND ($operation IS NULL OR units.name = $operation)
    AND ($outcome IS NULL OR units.outcome = $outcome)
    AND units.e2e_ns >= $least_ns
    AND ($below_ns::BIGINT IS NULL OR units.e2e_ns < $below_ns)
    AND ($first_ns::BIGINT IS NULL OR units.start_ns >= $first_ns)
    AND ($last_ns::BIGINT IS NULL OR units.start_ns < $last_ns)
    AND ($stage::VARCHAR IS NULL OR stage_times.stage_ns > 0)
    AND ($stage::VARCHAR IS NULL OR stage_times.stage_ns >= $least_share * units.e2e_ns)
    AND (
        $attribute::VARCHAR IS NULL
        OR if($value::VARCHAR IS NULL, units.attributes[$attribute] IS NOT NULL,
            units.attributes[$attribute]::VARCHAR = $value)
    )
    AND (
        $text IS NULL
        OR contains(lower(concat_ws(' ', units.name, units.service_name, units.model, units.trace_id)), lower($text))
        OR contains(lower(units.attributes::VARCHAR), lower($text))
    )
ORDER BY if($latest_first, units.start_ns, units.e2e_ns) DESC, units.trace_id, units.unit_id
LIMIT $limit
