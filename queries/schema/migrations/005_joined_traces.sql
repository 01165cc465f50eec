-- One request may come over several traces, and units say which layer they were seen from.
-- What is stored keeps its units until their traces get new spans.
ALTER TABLE base.units ADD COLUMN IF NOT EXISTS seen_from VARCHAR;

CREATE TABLE IF NOT EXISTS base.request_ids (
    request_id VARCHAR NOT NULL,
    trace_id UUID NOT NULL,
    first_ns BIGINT NOT NULL,
    last_ns BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS base.joined_spans (
    trace_id UUID NOT NULL,
    span_id UBIGINT NOT NULL,
    request_trace_id UUID NOT NULL,
    parent_span_id UBIGINT NOT NULL
);
