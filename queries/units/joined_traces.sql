-- Traces that are part of a request whose own span is in another trace, by the name that both give the request.
--
-- Traces that name a request at the same time are looked at together; a name that comes again later is that of another
-- request. Of those the one that holds the starts of most others is the request, then the one that holds most of them
-- whole, then rather a gateway than an engine, a client than a server, the longer one. The others are part of it
-- where they start inside its time and the name stands for most of their own trace. Nothing is joined where another
-- trace of the same service and operation has the name beside it: then requests share a name; nor where more traces
-- than $most_traces, or more groups apart in time than $most_groups, have one. A trace that is linked to several
-- others, or one of several of a kind that are linked to one, is a batch and no part of one request.
--
-- Made into the temporary table `joined_traces`. Reads dirty_traces, shared_request_ids.
-- Parameters:
--   $most_traces: traces that may share a name.
--   $most_groups: groups apart in time that may share a name.
--   $slack_ns: how far clocks may differ, nanoseconds.
-- Columns:
--   trace_id: the trace.
--   request_trace_id: trace of the request that it is part of.
--   is_ambiguous: whether another one of its service and operation runs beside it in the same request.
WITH RECURSIVE
made AS (
    SELECT trace_id
    FROM dirty_traces
    WHERE NOT is_training
),
ids AS (
    SELECT
        request_id,
        trace_id,
        min(first_ns) AS first_ns,
        max(last_ns) AS last_ns,
        count(*) OVER (PARTITION BY request_id) AS trace_count
    FROM shared_request_ids
    SEMI JOIN (SELECT request_id FROM shared_request_ids SEMI JOIN made USING (trace_id)) AS named USING (request_id)
    GROUP BY request_id, trace_id
),
shared AS (
    SELECT request_id, trace_id, first_ns, last_ns
    FROM ids
    SEMI JOIN made USING (trace_id)
    WHERE trace_count BETWEEN 2 AND $most_traces
),
spans AS MATERIALIZED (
    SELECT trace_id, span_id, parent_span_id, start_ns, end_ns, name, kind, resource_id
    FROM base.spans
    SEMI JOIN shared USING (trace_id)
),
tops AS (
    SELECT
        spans.trace_id,
        min(spans.start_ns) AS first_ns,
        max(spans.end_ns) AS last_ns,
        arg_max(
            {'service': resources.service_name, 'name': spans.name, 'kind': spans.kind},
            (spans.end_ns - spans.start_ns, spans.span_id)
        ) AS top
    FROM spans
    LEFT JOIN base.resources USING (resource_id)
    ANTI JOIN spans AS above
        ON above.trace_id = spans.trace_id AND above.span_id = spans.parent_span_id AND above.span_id != spans.span_id
    GROUP BY spans.trace_id
),
named AS (
    SELECT
        shared.*,
        concat_ws(chr(31), tops.top.service, tops.top.name) AS of_kind,
        (shared.last_ns - shared.first_ns)::HUGEINT * 2 >= tops.last_ns - tops.first_ns AS is_most,
        regexp_matches(
            tops.top.name, '^\s*(prefill |decode )?req |^llm_request$|^handle_payload$|^engine\.|^worker\.|mooncake|kv.?transfer', 'i'
        ) AS is_engine,
        CASE tops.top.kind WHEN 3 THEN 0 WHEN 4 THEN 0 WHEN 2 THEN 1 WHEN 5 THEN 1 ELSE 2 END AS kind_rank,
        coalesce(
            shared.first_ns > max(shared.last_ns) OVER (
                PARTITION BY shared.request_id
                ORDER BY shared.first_ns, shared.trace_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            TRUE
        ) AS begins
    FROM shared
    INNER JOIN tops USING (trace_id)
),
grouped AS (
    SELECT
        *,
        sum(begins::INTEGER) OVER (PARTITION BY request_id ORDER BY first_ns, trace_id) AS group_no
    FROM named
    QUALIFY count(*) FILTER (WHERE begins) OVER (PARTITION BY request_id) <= $most_groups
),
holding AS (
    SELECT
        holder.request_id,
        holder.group_no,
        holder.trace_id,
        count_if(
            holder.first_ns - $slack_ns <= held.first_ns AND held.first_ns < holder.last_ns
        ) AS start_count,
        count_if(
            holder.first_ns - $slack_ns <= held.first_ns AND held.last_ns <= holder.last_ns + $slack_ns
            AND held.last_ns - held.first_ns < holder.last_ns - holder.first_ns
        ) AS whole_count
    FROM grouped AS holder
    INNER JOIN grouped AS held
        ON held.request_id = holder.request_id
        AND held.group_no = holder.group_no
        AND held.trace_id != holder.trace_id
    GROUP BY ALL
),
requests AS (
    SELECT
        grouped.*,
        count(*) OVER (PARTITION BY grouped.request_id, grouped.group_no, grouped.of_kind) AS kind_count
    FROM grouped
    INNER JOIN holding USING (request_id, group_no, trace_id)
    QUALIFY row_number() OVER (
        PARTITION BY grouped.request_id, grouped.group_no
        ORDER BY
            holding.start_count DESC,
            holding.whole_count DESC,
            grouped.is_engine,
            grouped.kind_rank,
            grouped.last_ns - grouped.first_ns DESC,
            grouped.first_ns,
            grouped.trace_id
    ) = 1
),
parts AS (
    SELECT
        part.request_id,
        part.trace_id,
        requests.trace_id AS holder_id,
        requests.last_ns - requests.first_ns AS holder_ns,
        starts_with(part.request_id, 'link:') AS is_link,
        NOT is_link OR requests.trace_id::VARCHAR = split_part(part.request_id, ':', 2) AS is_directed,
        count(*) OVER (PARTITION BY requests.trace_id, is_link, part.of_kind) AS like_count,
        count(DISTINCT requests.trace_id) OVER (PARTITION BY part.trace_id, is_link) AS holder_count
    FROM grouped AS part
    INNER JOIN requests USING (request_id, group_no)
    WHERE part.trace_id != requests.trace_id
        AND requests.kind_count = 1
        AND part.is_most
        AND requests.first_ns - $slack_ns <= part.first_ns
        AND part.first_ns < requests.last_ns
),
pointing AS (
    SELECT trace_id, holder_id
    FROM parts
    WHERE is_directed AND (NOT is_link OR (like_count = 1 AND holder_count = 1))
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY is_link, holder_ns DESC, holder_id) = 1
),
-- A part of a part is a part of the whole; a circle has none.
followed (trace_id, holder_id, hops) AS (
    SELECT trace_id, holder_id, 1
    FROM pointing
    UNION
    SELECT followed.trace_id, pointing.holder_id, followed.hops + 1
    FROM followed
    INNER JOIN pointing ON pointing.trace_id = followed.holder_id
    WHERE followed.hops < 16
),
wholes AS (
    SELECT followed.trace_id, followed.holder_id AS request_trace_id
    FROM followed
    ANTI JOIN pointing ON pointing.trace_id = followed.holder_id
),
-- Two spans of one id cannot be told apart once their traces are one.
clashing AS (
    SELECT DISTINCT request_trace_id
    FROM (
        SELECT wholes.request_trace_id, spans.span_id, spans.trace_id
        FROM wholes
        INNER JOIN spans ON spans.trace_id IN (wholes.trace_id, wholes.request_trace_id)
    ) AS together
    GROUP BY request_trace_id, span_id
    HAVING count(DISTINCT trace_id) > 1
)
SELECT
    wholes.trace_id,
    wholes.request_trace_id,
    coalesce(bool_or(other.trace_id IS NOT NULL), FALSE) AS is_ambiguous
FROM wholes
INNER JOIN tops USING (trace_id)
LEFT JOIN (
    SELECT wholes.*, tops.first_ns, tops.last_ns, tops.top
    FROM wholes
    INNER JOIN tops USING (trace_id)
) AS other
    ON other.request_trace_id = wholes.request_trace_id
    AND other.trace_id != wholes.trace_id
    AND other.top.service IS NOT DISTINCT FROM tops.top.service
    AND other.top.name = tops.top.name
    AND other.first_ns < tops.last_ns
    AND other.last_ns > tops.first_ns
ANTI JOIN clashing ON clashing.request_trace_id = wholes.request_trace_id
GROUP BY wholes.trace_id, wholes.request_trace_id
ORDER BY wholes.trace_id
