-- Stores the names of requests of the registered table `new_request_ids`.
INSERT INTO base.request_ids
SELECT
    request_id,
    trace_id::UUID AS trace_id,
    first_ns,
    last_ns
FROM new_request_ids
