-- Removes what was stored of the traces of the registered table `stale_traces` that hang in a request.
DELETE FROM base.joined_spans
WHERE trace_id IN (SELECT trace_id::UUID FROM stale_traces)
