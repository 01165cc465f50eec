-- Where the traces that are part of a request hang in it: below the innermost span of another of its traces that holds
-- them in time, and below the request's own span where none does.
--
-- A span that names another request holds nothing of this one. Of the traces of a request each hangs below one that
-- lasts longer, so that nothing hangs below itself.
--
-- Made into the temporary table `batch_joined`. Reads batch_spans, joined_traces and the macro `said_request_ids`.
-- Parameters:
--   $slack_ns: how far clocks may differ, nanoseconds; never more than a twentieth of the span that holds.
-- Columns:
--   span_row: a topmost span of a trace that is part of a request.
--   trace_id, span_id: its ids.
--   request_trace_id: trace of the request.
--   parent_span_id: the span that it hangs below.
WITH
joined AS (
    SELECT
        batch_spans.span_row,
        batch_spans.trace_no,
        batch_spans.trace_id,
        batch_spans.span_id,
        batch_spans.parent_span_id,
        batch_spans.start_ns,
        batch_spans.end_ns,
        coalesce(joined_traces.request_trace_id, batch_spans.trace_id) AS request_trace_id,
        said_request_ids(batch_spans.attributes) AS said_ids
    FROM batch_spans
    LEFT JOIN joined_traces USING (trace_id)
    SEMI JOIN (
        SELECT trace_id FROM joined_traces UNION ALL SELECT request_trace_id FROM joined_traces
    ) AS concerned USING (trace_id)
),
traces AS (
    SELECT
        trace_no,
        trace_id,
        list_distinct(flatten(list(said_ids))) AS trace_ids,
        row_number() OVER (
            PARTITION BY trace_no
            ORDER BY any_value(trace_id = request_trace_id) DESC, max(end_ns) - min(start_ns) DESC, trace_id
        ) AS place
    FROM joined
    GROUP BY trace_no, trace_id
),
tops AS (
    SELECT joined.*, traces.place, traces.trace_ids
    FROM joined
    INNER JOIN traces USING (trace_no, trace_id)
    ANTI JOIN joined AS above
        ON above.trace_id = joined.trace_id AND above.span_id = joined.parent_span_id
        AND above.span_id != joined.span_id
    WHERE joined.trace_id != joined.request_trace_id
),
holding AS (
    SELECT
        tops.span_row,
        holder.span_id AS parent_span_id
    FROM tops
    INNER JOIN joined AS holder ON holder.trace_no = tops.trace_no AND holder.trace_id != tops.trace_id
    INNER JOIN traces AS of_holder
        ON of_holder.trace_id = holder.trace_id AND of_holder.trace_no = holder.trace_no AND of_holder.place < tops.place
    WHERE holder.start_ns - least($slack_ns, (holder.end_ns - holder.start_ns) // 20) <= tops.start_ns
        AND holder.end_ns + least($slack_ns, (holder.end_ns - holder.start_ns) // 20) >= tops.end_ns
        AND (len(holder.said_ids) = 0 OR list_has_any(holder.said_ids, tops.trace_ids))
    QUALIFY row_number() OVER (
        PARTITION BY tops.span_row
        ORDER BY
            holder.end_ns - holder.start_ns, holder.parent_span_id IS NULL, holder.start_ns DESC, holder.span_id
    ) = 1
),
roots AS (
    SELECT
        trace_no,
        arg_min(span_id, (parent_span_id IS NOT NULL, start_ns, start_ns - end_ns, span_id)) AS span_id
    FROM joined
    WHERE trace_id = request_trace_id
    GROUP BY trace_no
)
SELECT
    tops.span_row,
    tops.trace_id,
    tops.span_id,
    tops.request_trace_id,
    coalesce(holding.parent_span_id, roots.span_id) AS parent_span_id
FROM tops
INNER JOIN roots USING (trace_no)
LEFT JOIN holding USING (span_row)
ORDER BY tops.span_row
