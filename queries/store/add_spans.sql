-- Stores the spans of the registered table `incoming_spans`, in its order.
--
-- Columns:
--   count: spans stored.
INSERT INTO base.spans
SELECT
    trace_id,
    span_id,
    parent_span_id,
    start_ns,
    end_ns,
    name,
    kind,
    status_code,
    nullif(status_message, '') AS status_message,
    resource_id,
    scope_id,
    attributes::VARIANT AS attributes,
    nullif(trace_state, '') AS trace_state,
    flags,
    dropped_attributes_count,
    dropped_events_count,
    dropped_links_count,
    ingest_id
FROM incoming_spans
