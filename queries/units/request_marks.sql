-- What was noticed about the names of requests, by the trace of the request.
--
-- Reads dirty_traces, joined_traces, implausible_traces, shared_request_ids, crowded_request_ids, touched_names.
-- Columns:
--   trace_id: trace of the request, as text.
--   flags: comma-separated: joined (it came over several traces), ambiguous_join (parts of one kind run beside each
--     other), shared_request_id (another request has the same name), implausible_times (no answer counts it).
WITH
requests AS (
    SELECT
        dirty_traces.trace_id,
        coalesce(joined_traces.request_trace_id, dirty_traces.trace_id) AS request_trace_id,
        joined_traces.is_ambiguous
    FROM dirty_traces
    LEFT JOIN joined_traces USING (trace_id)
    WHERE NOT dirty_traces.is_training
),
ids AS (
    SELECT DISTINCT request_id, trace_id
    FROM shared_request_ids
    WHERE NOT starts_with(request_id, 'link:')
),
sharing AS (
    SELECT request_id
    FROM ids
    LEFT JOIN requests USING (trace_id)
    GROUP BY request_id
    HAVING count(DISTINCT coalesce(requests.request_trace_id, ids.trace_id)) > 1
),
named_alike AS (
    SELECT ids.trace_id
    FROM ids
    SEMI JOIN sharing USING (request_id)
    UNION
    SELECT trace_id
    FROM touched_names
    SEMI JOIN crowded_request_ids USING (request_id)
    WHERE NOT starts_with(request_id, 'link:')
),
marks AS (
    SELECT
        requests.request_trace_id,
        bool_or(requests.is_ambiguous IS NOT NULL) AS is_joined,
        coalesce(bool_or(requests.is_ambiguous), FALSE) AS is_ambiguous,
        bool_or(requests.trace_id IN (FROM named_alike)) AS is_shared,
        bool_or(requests.trace_id IN (SELECT trace_id FROM implausible_traces)) AS is_implausible
    FROM requests
    GROUP BY requests.request_trace_id
)
SELECT
    request_trace_id::VARCHAR AS trace_id,
    concat_ws(
        ',',
        CASE WHEN is_joined THEN 'joined' END,
        CASE WHEN is_ambiguous THEN 'ambiguous_join' END,
        CASE WHEN is_shared THEN 'shared_request_id' END,
        CASE WHEN is_implausible THEN 'implausible_times' END
    ) AS flags
FROM marks
WHERE is_joined OR is_shared OR is_implausible
ORDER BY trace_id
