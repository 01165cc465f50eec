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
    resource_id UINTEGER,
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
