-- Stores the events of the registered table `incoming_events`, in its order.
--
-- Columns:
--   count: events stored.
INSERT INTO base.span_events
SELECT
    trace_id,
    span_id,
    event_index,
    time_ns,
    name,
    attributes::JSON::VARIANT AS attributes,
    dropped_attributes_count,
    ingest_id
FROM incoming_events
