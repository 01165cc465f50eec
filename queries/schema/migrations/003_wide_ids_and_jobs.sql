-- Ids are 64 bits wide, and a metric series has the same identity in every store.
ALTER TABLE base.spans ALTER resource_id TYPE BIGINT;
ALTER TABLE base.spans ALTER scope_id TYPE BIGINT;
ALTER TABLE base.span_attribute_keys ALTER resource_id TYPE BIGINT;
ALTER TABLE base.metric_points ALTER stream_id TYPE BIGINT;
ALTER TABLE base.metric_histograms ALTER stream_id TYPE BIGINT;
ALTER TABLE base.metric_summaries ALTER stream_id TYPE BIGINT;
ALTER TABLE base.exemplars ALTER stream_id TYPE BIGINT;
ALTER TABLE base.logs ALTER resource_id TYPE BIGINT;
ALTER TABLE base.logs ALTER scope_id TYPE BIGINT;
ALTER TABLE base.units ALTER unit_id TYPE BIGINT;
ALTER TABLE base.unit_stages ALTER unit_id TYPE BIGINT;
ALTER TABLE base.step_waits ALTER unit_id TYPE BIGINT;

-- The type of a primary key cannot be changed where it is.
CREATE TABLE base.wide_resources (
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
INSERT INTO base.wide_resources BY NAME SELECT * FROM base.resources;
DROP TABLE base.resources;
ALTER TABLE base.wide_resources RENAME TO resources;

CREATE TABLE base.wide_scopes (
    scope_id BIGINT NOT NULL PRIMARY KEY,
    identity_hash UHUGEINT NOT NULL,
    name VARCHAR NOT NULL,
    version VARCHAR,
    attributes VARIANT,
    dropped_attributes_count UINTEGER NOT NULL,
    schema_url VARCHAR
);
INSERT INTO base.wide_scopes BY NAME SELECT * FROM base.scopes;
DROP TABLE base.scopes;
ALTER TABLE base.wide_scopes RENAME TO scopes;

CREATE TABLE base.wide_metric_streams (
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
INSERT INTO base.wide_metric_streams BY NAME
SELECT streams.* REPLACE (
    md5_number(
        json_array(
            resources.identity_hash::VARCHAR, scopes.identity_hash::VARCHAR, streams.name,
            streams.description, streams.unit, streams.kind, streams.temporality,
            streams.is_monotonic, streams.attributes::JSON, streams.metadata::JSON
        )::VARCHAR
    ) AS identity_hash
)
FROM base.metric_streams AS streams
INNER JOIN base.resources USING (resource_id)
INNER JOIN base.scopes USING (scope_id);
DROP TABLE base.metric_streams;
ALTER TABLE base.wide_metric_streams RENAME TO metric_streams;

-- Units of jobs: the ledger of each job, its attempts and incidents. They are made from the spans by the next update.

CREATE TABLE IF NOT EXISTS base.jobs (
    job_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    accelerators INTEGER NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    is_ended BOOLEAN NOT NULL,
    attempts_inferred BOOLEAN NOT NULL,
    span_count UBIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS base.job_attempts (
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

CREATE TABLE IF NOT EXISTS base.job_leaves (
    job_id VARCHAR NOT NULL,
    attempt INTEGER,
    leaf VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    accelerators INTEGER NOT NULL,
    each_ns BIGINT NOT NULL,
    is_derived BOOLEAN NOT NULL
);

CREATE TABLE IF NOT EXISTS base.job_incidents (
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

CREATE TABLE IF NOT EXISTS base.job_members (
    job_id VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    rank INTEGER,
    host VARCHAR,
    role VARCHAR NOT NULL,
    manner VARCHAR NOT NULL,
    time_ns BIGINT,
    message VARCHAR
);

CREATE TABLE IF NOT EXISTS base.job_notes (
    job_id VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    count BIGINT NOT NULL,
    text VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS base.jobs_built_through (
    ingest_id UINTEGER NOT NULL
);
