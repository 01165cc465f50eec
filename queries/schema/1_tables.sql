-- The tables of a trace store: what arrived, lossless, and what was computed from it.
--
-- Ids are stored as numbers (trace ids as UUID, span ids as UBIGINT), which is smaller and faster than text;
-- the views of `2_views.sql` show them as the lower-case hexadecimal text that everybody knows.
-- All times are nanoseconds since the Unix epoch (BIGINT), intervals are half-open.
CREATE SCHEMA base;

CREATE TABLE base.store_info (
    schema_version INTEGER NOT NULL,
    created_ns BIGINT NOT NULL,
    created_by VARCHAR NOT NULL
);

CREATE TABLE base.ingests (
    ingest_id UINTEGER NOT NULL PRIMARY KEY,
    source VARCHAR NOT NULL,
    format VARCHAR,
    received_ns BIGINT NOT NULL,
    spans UBIGINT NOT NULL,
    metric_points UBIGINT NOT NULL,
    logs UBIGINT NOT NULL,
    duplicates UBIGINT NOT NULL,
    rejected UBIGINT NOT NULL,
    error VARCHAR
);

CREATE TABLE base.ingest_rejects (
    ingest_id UINTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    signal VARCHAR,
    reason VARCHAR NOT NULL,
    record_count UBIGINT NOT NULL,
    first_offset BIGINT,
    example VARCHAR
);

CREATE TABLE base.resources (
    resource_id BIGINT NOT NULL PRIMARY KEY,
    identity_hash UHUGEINT NOT NULL,
    service_name VARCHAR,
    service_namespace VARCHAR,
    service_instance_id VARCHAR,
    host_name VARCHAR,
    job_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,
    world_size INTEGER,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    schema_url VARCHAR,
    entity_refs VARIANT
);

CREATE TABLE base.scopes (
    scope_id BIGINT NOT NULL PRIMARY KEY,
    identity_hash UHUGEINT NOT NULL,
    name VARCHAR NOT NULL,
    version VARCHAR,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    schema_url VARCHAR
);

CREATE TABLE base.spans (
    trace_id UUID NOT NULL,
    span_id UBIGINT NOT NULL,
    parent_span_id UBIGINT,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    kind UTINYINT NOT NULL,
    status_code UTINYINT NOT NULL,
    status_message VARCHAR,
    resource_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    attributes VARIANT,
    trace_state VARCHAR,
    flags UINTEGER NOT NULL,
    dropped_attributes_count UINTEGER NOT NULL,
    dropped_events_count UINTEGER NOT NULL,
    dropped_links_count UINTEGER NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.span_attribute_keys (
    resource_id BIGINT NOT NULL,
    key VARCHAR NOT NULL
);

CREATE TABLE base.span_events (
    trace_id UUID NOT NULL,
    span_id UBIGINT NOT NULL,
    event_index UINTEGER NOT NULL,
    time_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.span_links (
    trace_id UUID NOT NULL,
    span_id UBIGINT NOT NULL,
    link_index UINTEGER NOT NULL,
    linked_trace_id UUID NOT NULL,
    linked_span_id UBIGINT NOT NULL,
    trace_state VARCHAR,
    flags UINTEGER NOT NULL,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.metric_streams (
    stream_id BIGINT NOT NULL PRIMARY KEY,
    identity_hash UHUGEINT NOT NULL,
    resource_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR,
    unit VARCHAR,
    kind VARCHAR NOT NULL,
    temporality UTINYINT,
    is_monotonic BOOLEAN,
    attributes VARIANT,
    metadata VARIANT
);

CREATE TABLE base.metric_points (
    stream_id BIGINT NOT NULL,
    start_ns BIGINT,
    time_ns BIGINT NOT NULL,
    flags UINTEGER NOT NULL,
    value_int BIGINT,
    value_double DOUBLE,
    content_hash UBIGINT NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.metric_histograms (
    stream_id BIGINT NOT NULL,
    start_ns BIGINT,
    time_ns BIGINT NOT NULL,
    flags UINTEGER NOT NULL,
    count UBIGINT NOT NULL,
    sum DOUBLE,
    min DOUBLE,
    max DOUBLE,
    explicit_bounds DOUBLE[],
    bucket_counts UBIGINT[],
    scale INTEGER,
    zero_count UBIGINT,
    zero_threshold DOUBLE,
    positive_offset INTEGER,
    positive_counts UBIGINT[],
    negative_offset INTEGER,
    negative_counts UBIGINT[],
    content_hash UBIGINT NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.metric_summaries (
    stream_id BIGINT NOT NULL,
    start_ns BIGINT,
    time_ns BIGINT NOT NULL,
    flags UINTEGER NOT NULL,
    count UBIGINT NOT NULL,
    sum DOUBLE NOT NULL,
    quantiles DOUBLE[],
    quantile_values DOUBLE[],
    content_hash UBIGINT NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.exemplars (
    stream_id BIGINT NOT NULL,
    point_time_ns BIGINT NOT NULL,
    time_ns BIGINT NOT NULL,
    value_int BIGINT,
    value_double DOUBLE,
    trace_id UUID,
    span_id UBIGINT,
    attributes VARIANT,
    content_hash UBIGINT NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.logs (
    time_ns BIGINT,
    observed_time_ns BIGINT,
    severity_number UTINYINT NOT NULL,
    severity_text VARCHAR,
    event_name VARCHAR,
    body VARIANT,
    trace_id UUID,
    span_id UBIGINT,
    resource_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    flags UINTEGER NOT NULL,
    content_hash UBIGINT NOT NULL,
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.stages (
    stage VARCHAR NOT NULL PRIMARY KEY,
    unit_kind VARCHAR NOT NULL,
    windows VARCHAR,
    layer VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    description VARCHAR NOT NULL
);

CREATE TABLE base.units (
    unit_id BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    trace_id UUID,
    root_span_id UBIGINT,
    job_id VARCHAR,
    attempt INTEGER,
    step BIGINT,
    rank INTEGER,
    service_name VARCHAR,
    name VARCHAR NOT NULL,
    model VARCHAR,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    first_token_ns BIGINT,
    last_token_ns BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    outcome VARCHAR NOT NULL,
    vantage VARCHAR NOT NULL,
    attributes VARIANT,
    span_count UINTEGER NOT NULL,
    orphan_count UINTEGER NOT NULL,
    orphan_ns BIGINT NOT NULL,
    outside_count UINTEGER NOT NULL,
    outside_ns BIGINT NOT NULL,
    post_root_ns BIGINT NOT NULL,
    shift_ns BIGINT NOT NULL,
    conflict_count UINTEGER NOT NULL,
    flags VARCHAR,
    seen_from VARCHAR
);

CREATE TABLE base.request_ids (
    request_id VARCHAR NOT NULL,
    trace_id UUID NOT NULL,
    first_ns BIGINT NOT NULL,
    last_ns BIGINT NOT NULL
);

CREATE TABLE base.joined_spans (
    trace_id UUID NOT NULL,
    span_id UBIGINT NOT NULL,
    request_trace_id UUID NOT NULL,
    parent_span_id UBIGINT NOT NULL
);

CREATE TABLE base.unit_stages (
    unit_id BIGINT NOT NULL,
    "window" VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    self_ns BIGINT NOT NULL,
    alternative_ns BIGINT NOT NULL,
    operation_count UINTEGER NOT NULL
);

CREATE TABLE base.step_waits (
    unit_id BIGINT NOT NULL,
    culprit_rank INTEGER NOT NULL,
    culprit_stage VARCHAR NOT NULL,
    culprit_operation VARCHAR NOT NULL,
    wait_ns BIGINT NOT NULL,
    culprit_step BIGINT,
    basis VARCHAR NOT NULL DEFAULT 'collective'
);

CREATE TABLE base.step_lead_ins (
    unit_id BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    self_ns BIGINT NOT NULL
);

CREATE TABLE base.step_collectives (
    unit_id BIGINT NOT NULL,
    collective_group VARCHAR NOT NULL,
    collective_name VARCHAR NOT NULL,
    member_count UINTEGER NOT NULL,
    instance_count UINTEGER NOT NULL,
    unsplit_count UINTEGER NOT NULL,
    bytes BIGINT,
    wait_ns BIGINT NOT NULL,
    transfer_ns BIGINT NOT NULL,
    shortest_ns BIGINT NOT NULL,
    exposed_ns BIGINT NOT NULL
);

CREATE TABLE base.built_through (
    ingest_id UINTEGER NOT NULL
);

CREATE TABLE base.jobs (
    job_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    accelerators INTEGER NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    is_ended BOOLEAN NOT NULL,
    attempts_inferred BOOLEAN NOT NULL,
    span_count UBIGINT NOT NULL
);

CREATE TABLE base.job_attempts (
    job_id VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    outcome VARCHAR NOT NULL,
    world_size INTEGER,
    begun_ns BIGINT NOT NULL,
    all_granted_ns BIGINT NOT NULL,
    first_step_ns BIGINT,
    stopped_ns BIGINT NOT NULL,
    declared_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    first_step BIGINT,
    made_step BIGINT,
    kept_step BIGINT,
    durable_step BIGINT
);

CREATE TABLE base.job_leaves (
    job_id VARCHAR NOT NULL,
    attempt INTEGER,
    leaf VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    accelerators INTEGER NOT NULL,
    each_ns BIGINT NOT NULL,
    is_derived BOOLEAN NOT NULL
);

CREATE TABLE base.job_incidents (
    job_id VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    manner VARCHAR NOT NULL,
    ranks INTEGER[] NOT NULL,
    hosts VARCHAR[] NOT NULL,
    message VARCHAR,
    source VARCHAR,
    resource_id BIGINT,
    trace_id UUID,
    span_id UBIGINT,
    onset_ns BIGINT NOT NULL,
    onset_slack_ns BIGINT NOT NULL,
    declared_ns BIGINT NOT NULL,
    recovered_ns BIGINT,
    recovery VARCHAR NOT NULL,
    resumed_step BIGINT,
    blast_radius INTEGER NOT NULL
);

CREATE TABLE base.job_members (
    job_id VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    rank INTEGER,
    host VARCHAR,
    role VARCHAR NOT NULL,
    manner VARCHAR NOT NULL,
    time_ns BIGINT,
    message VARCHAR
);

CREATE TABLE base.job_notes (
    job_id VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    count BIGINT NOT NULL,
    text VARCHAR NOT NULL
);

CREATE TABLE base.jobs_built_through (
    ingest_id UINTEGER NOT NULL
);
