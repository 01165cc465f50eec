-- Stores the spans of the registered table `new_joined_spans`: where traces that are part of a request hang in it.
INSERT INTO base.joined_spans
SELECT
    trace_id::UUID AS trace_id,
    span_id,
    request_trace_id::UUID AS request_trace_id,
    parent_span_id
FROM new_joined_spans
