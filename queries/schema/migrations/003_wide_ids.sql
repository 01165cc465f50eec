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
