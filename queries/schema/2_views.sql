-- What users query: the tables of a trace store with hexadecimal ids, names instead of numbers, and durations.
CREATE OR REPLACE MACRO portable_id(identity_hash) AS (identity_hash & 9223372036854775807::UHUGEINT)::BIGINT;

CREATE OR REPLACE MACRO unit_key(kind, trace_id, root_span_id, job_id, attempt, step, rank) AS portable_id(
    md5_number(
        CASE
            WHEN kind = 'request' THEN json_array(kind, trace_id::VARCHAR, root_span_id)
            ELSE json_array(kind, job_id, attempt, step, rank)
        END::VARCHAR
    )
);

CREATE OR REPLACE VIEW ingests AS
SELECT * FROM base.ingests;

CREATE OR REPLACE VIEW ingest_rejects AS
SELECT * FROM base.ingest_rejects;

CREATE OR REPLACE VIEW resources AS
SELECT * EXCLUDE (identity_hash), portable_id(identity_hash) AS resource_key FROM base.resources;

CREATE OR REPLACE VIEW scopes AS
SELECT * EXCLUDE (identity_hash), portable_id(identity_hash) AS scope_key FROM base.scopes;

CREATE OR REPLACE VIEW spans AS
SELECT
    replace(spans.trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', spans.span_id) AS span_id,
    format('{:016x}', spans.parent_span_id) AS parent_span_id,
    resources.service_name,
    spans.name,
    CASE spans.kind
        WHEN 1 THEN 'INTERNAL' WHEN 2 THEN 'SERVER' WHEN 3 THEN 'CLIENT'
        WHEN 4 THEN 'PRODUCER' WHEN 5 THEN 'CONSUMER' ELSE 'UNSPECIFIED'
    END AS kind,
    spans.start_ns,
    spans.end_ns,
    spans.end_ns - spans.start_ns AS duration_ns,
    CASE spans.status_code WHEN 1 THEN 'OK' WHEN 2 THEN 'ERROR' ELSE 'UNSET' END AS status_code,
    spans.status_message,
    spans.attributes AS span_attributes,
    resources.attributes AS resource_attributes,
    scopes.name AS scope_name,
    scopes.version AS scope_version,
    spans.trace_state,
    spans.flags,
    spans.dropped_attributes_count,
    spans.dropped_events_count,
    spans.dropped_links_count,
    spans.resource_id,
    spans.scope_id,
    spans.ingest_id
FROM base.spans
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id);

CREATE OR REPLACE VIEW span_attribute_keys AS
SELECT * FROM base.span_attribute_keys;

CREATE OR REPLACE VIEW span_events AS
SELECT
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    event_index,
    time_ns,
    name,
    attributes,
    dropped_attributes_count,
    ingest_id
FROM base.span_events;

CREATE OR REPLACE VIEW span_links AS
SELECT
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    link_index,
    replace(linked_trace_id::VARCHAR, '-', '') AS linked_trace_id,
    format('{:016x}', linked_span_id) AS linked_span_id,
    trace_state,
    flags,
    attributes,
    dropped_attributes_count,
    ingest_id
FROM base.span_links;

CREATE OR REPLACE VIEW metric_streams AS
SELECT
    metric_streams.stream_id,
    resources.service_name,
    metric_streams.name,
    metric_streams.description,
    metric_streams.unit,
    metric_streams.kind,
    CASE metric_streams.temporality
        WHEN 0 THEN 'UNSPECIFIED' WHEN 1 THEN 'DELTA' WHEN 2 THEN 'CUMULATIVE'
    END AS temporality,
    metric_streams.is_monotonic,
    metric_streams.attributes,
    metric_streams.metadata,
    resources.attributes AS resource_attributes,
    scopes.name AS scope_name,
    metric_streams.resource_id,
    metric_streams.scope_id,
    portable_id(metric_streams.identity_hash) AS stream_key
FROM base.metric_streams
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id);

CREATE OR REPLACE VIEW metric_points AS
SELECT * EXCLUDE (content_hash) FROM base.metric_points;

CREATE OR REPLACE VIEW metric_histograms AS
SELECT * EXCLUDE (content_hash) FROM base.metric_histograms;

CREATE OR REPLACE VIEW metric_summaries AS
SELECT * EXCLUDE (content_hash) FROM base.metric_summaries;

CREATE OR REPLACE VIEW exemplars AS
SELECT
    stream_id,
    point_time_ns,
    time_ns,
    value_int,
    value_double,
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    attributes,
    ingest_id
FROM base.exemplars;

CREATE OR REPLACE VIEW logs AS
SELECT
    logs.time_ns,
    logs.observed_time_ns,
    resources.service_name,
    logs.severity_number,
    logs.severity_text,
    logs.event_name,
    logs.body,
    replace(logs.trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', logs.span_id) AS span_id,
    logs.attributes AS log_attributes,
    resources.attributes AS resource_attributes,
    scopes.name AS scope_name,
    logs.dropped_attributes_count,
    logs.flags,
    logs.resource_id,
    logs.scope_id,
    logs.ingest_id
FROM base.logs
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id);

CREATE OR REPLACE VIEW stages AS
SELECT * FROM base.stages;

CREATE OR REPLACE VIEW units AS
SELECT
    unit_id,
    kind,
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', root_span_id) AS root_span_id,
    job_id,
    attempt,
    step,
    rank,
    service_name,
    name,
    model,
    start_ns,
    end_ns,
    first_token_ns,
    last_token_ns,
    end_ns - start_ns AS e2e_ns,
    first_token_ns - start_ns AS ttft_ns,
    CASE WHEN output_tokens > 1 THEN (last_token_ns - first_token_ns) // (output_tokens - 1) END AS tpot_ns,
    input_tokens,
    output_tokens,
    outcome,
    vantage,
    attributes,
    span_count,
    orphan_count,
    orphan_ns,
    outside_count,
    outside_ns,
    post_root_ns,
    shift_ns,
    conflict_count,
    flags,
    coalesce(seen_from, vantage) AS seen_from,
    unit_key(kind, trace_id, root_span_id, job_id, attempt, step, rank) AS unit_key
FROM base.units;

CREATE OR REPLACE VIEW request_ids AS
SELECT * REPLACE (replace(trace_id::VARCHAR, '-', '') AS trace_id)
FROM base.request_ids;

CREATE OR REPLACE VIEW joined_spans AS
SELECT
    replace(trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', span_id) AS span_id,
    replace(request_trace_id::VARCHAR, '-', '') AS request_trace_id,
    format('{:016x}', parent_span_id) AS parent_span_id
FROM base.joined_spans;

CREATE OR REPLACE VIEW unit_stages AS
SELECT * FROM base.unit_stages;

CREATE OR REPLACE VIEW step_waits AS
SELECT * FROM base.step_waits;

CREATE OR REPLACE VIEW step_lead_ins AS
SELECT * FROM base.step_lead_ins;

CREATE OR REPLACE VIEW step_collectives AS
SELECT * FROM base.step_collectives;

CREATE OR REPLACE VIEW jobs AS
SELECT * FROM base.jobs;

CREATE OR REPLACE VIEW job_attempts AS
SELECT * FROM base.job_attempts;

CREATE OR REPLACE VIEW job_leaves AS
SELECT * EXCLUDE (each_ns, is_derived), each_ns, accelerators::HUGEINT * each_ns AS accelerator_ns, is_derived
FROM base.job_leaves;

CREATE OR REPLACE VIEW job_incidents AS
SELECT
    * REPLACE (replace(trace_id::VARCHAR, '-', '') AS trace_id, format('{:016x}', span_id) AS span_id)
FROM base.job_incidents;

CREATE OR REPLACE VIEW job_members AS
SELECT * FROM base.job_members;

CREATE OR REPLACE VIEW job_notes AS
SELECT * FROM base.job_notes;

CREATE OR REPLACE VIEW training_ranks AS
SELECT
    coalesce(job_id, '') AS job_id,
    coalesce(attempt, -1) AS attempt,
    rank,
    any_value(host_name ORDER BY resource_id) AS host_name,
    any_value(attributes['tracekit.parallel.pp']::VARCHAR ORDER BY resource_id) AS role,
    any_value(TRY_CAST(attributes['tracekit.parallel.pp'] AS BIGINT) ORDER BY resource_id) AS pipeline_stage
FROM base.resources
WHERE rank IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE VIEW training_worlds AS
SELECT
    coalesce(job_id, '') AS job_id,
    coalesce(attempt, -1) AS attempt,
    max(world_size) AS world_size
FROM base.resources
WHERE world_size IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE VIEW training_steps AS
WITH
parts AS (
    SELECT
        unit_id,
        coalesce(job_id, '') AS job_id,
        coalesce(attempt, -1) AS attempt,
        step,
        rank,
        start_ns,
        end_ns,
        outcome
    FROM base.units
    WHERE kind = 'step'
)
SELECT
    unit_id,
    job_id,
    attempt,
    step,
    rank,
    start_ns,
    end_ns,
    step = min(step) OVER (PARTITION BY job_id, attempt) AS is_warm_up,
    bool_and(outcome = 'ok') OVER (PARTITION BY job_id, attempt, step) AS is_ok
FROM parts;

CREATE OR REPLACE VIEW looked_at_steps AS
SELECT
    training_steps.unit_id,
    training_steps.job_id,
    training_steps.attempt,
    training_steps.step,
    training_steps.rank,
    training_steps.start_ns,
    training_steps.end_ns,
    training_ranks.host_name,
    coalesce(training_ranks.role, '') AS role,
    training_ranks.pipeline_stage
FROM training_steps
LEFT JOIN training_ranks USING (job_id, attempt, rank)
WHERE training_steps.is_ok AND NOT training_steps.is_warm_up;

CREATE OR REPLACE VIEW step_times AS
WITH
led_in AS (
    SELECT
        unit_id,
        sum(self_ns)::BIGINT AS lead_in_ns,
        coalesce(sum(self_ns) FILTER (WHERE stage != 'step.straggler_wait'), 0)::BIGINT AS worked_ns
    FROM base.step_lead_ins
    GROUP BY unit_id
),
waited AS (
    SELECT
        unit_id,
        sum(wait_ns)::BIGINT AS waited_ns
    FROM base.step_waits
    GROUP BY unit_id
)
SELECT
    training_steps.unit_id,
    training_steps.job_id,
    training_steps.attempt,
    training_steps.step,
    training_steps.rank,
    training_steps.end_ns - training_steps.start_ns AS step_ns,
    coalesce(led_in.lead_in_ns, 0) - min(coalesce(led_in.worked_ns, 0)) OVER same_step AS lead_in_ns,
    coalesce(waited.waited_ns, 0) AS waited_ns
FROM training_steps
LEFT JOIN led_in USING (unit_id)
LEFT JOIN waited USING (unit_id)
WINDOW same_step AS (PARTITION BY training_steps.job_id, training_steps.attempt, training_steps.step);
