-- Names of requests that the traces of a warehouse have.
--
-- Columns:
--   name: the name, as in base.request_ids.
--   trace_id: 16 bytes.
SELECT request_id AS name, unhex(replace(trace_id::VARCHAR, '-', '')) AS trace_id
FROM base.request_ids
