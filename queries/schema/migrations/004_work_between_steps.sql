-- Waits know the step and the ground that they stand on; work between steps and collectives have tables. Units of
-- steps are made anew from their spans.
DROP TABLE base.step_waits;
CREATE TABLE base.step_waits (
    unit_id BIGINT NOT NULL,
    culprit_rank INTEGER NOT NULL,
    culprit_stage VARCHAR NOT NULL,
    culprit_operation VARCHAR NOT NULL,
    wait_ns BIGINT NOT NULL,
    culprit_step BIGINT,
    basis VARCHAR NOT NULL DEFAULT 'collective'
);

CREATE TABLE IF NOT EXISTS base.step_lead_ins (
    unit_id BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    self_ns BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS base.step_collectives (
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

DELETE FROM base.built_through
WHERE EXISTS (FROM base.units WHERE kind = 'step');
