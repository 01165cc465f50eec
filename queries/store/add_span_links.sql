-- Stores the links of the registered table `incoming_links`, in its order.
--
-- Columns:
--   count: links stored.
INSERT INTO base.span_links
SELECT
    trace_id,
    span_id,
    link_index,
    linked_trace_id,
    linked_span_id,
    nullif(trace_state, '') AS trace_state,
    flags,
    attributes::JSON::VARIANT AS attributes,
    dropped_attributes_count,
    ingest_id
FROM incoming_links
