-- Who has the reached names of requests, crowded ones left out.
--
-- Added to the temporary table `shared_request_ids`. Reads reached_request_ids, crowded_request_ids, new_request_ids.
-- Columns:
--   request_id: the name.
--   trace_id: a trace that has it.
--   first_ns, last_ns: earliest start and latest end of the spans that tell it, nanoseconds since the epoch.
SELECT request_id, trace_id, first_ns, last_ns
FROM (
    FROM base.request_ids
    UNION ALL BY NAME
    FROM new_request_ids
) AS known
SEMI JOIN reached_request_ids USING (request_id)
ANTI JOIN crowded_request_ids USING (request_id)
