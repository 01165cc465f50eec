-- What is wrong with the spans of the store, one row a check.
--
-- Parameters:
--   $future_tolerance_ns: how far after its arrival a span may start or end.
--   $past_tolerance_ns: how far before its arrival a span may start or end.
-- Columns:
--   check_name: code of the check.
--   finding_count: spans or traces where it fails.
--   total_count: all spans or traces.
WITH
sums AS (
    SELECT
        count(*) AS spans,
        count(*) FILTER (WHERE spans.end_ns < spans.start_ns) AS negative_durations,
        count(*) FILTER (WHERE spans.dropped_attributes_count > 0) AS dropped_attributes,
        count(*) FILTER (WHERE spans.dropped_events_count > 0) AS dropped_events,
        count(*) FILTER (WHERE spans.dropped_links_count > 0) AS dropped_links,
        count(*) FILTER (
            WHERE greatest(spans.start_ns, spans.end_ns) > ingests.received_ns + $future_tolerance_ns
            OR least(spans.start_ns, spans.end_ns) < ingests.received_ns - $past_tolerance_ns
        ) AS implausible_times
    FROM base.spans
    LEFT JOIN base.ingests USING (ingest_id)
),
in_units AS (
    SELECT
        (SELECT coalesce(sum(span_count), 0) FROM base.units)
        + (SELECT coalesce(sum(span_count), 0) FROM base.jobs) AS span_count
),
orphans AS (
    SELECT count(*) AS missing_parents
    FROM base.spans
    ANTI JOIN (SELECT trace_id, span_id AS parent_span_id FROM base.spans) AS parents
        USING (trace_id, parent_span_id)
    WHERE spans.parent_span_id IS NOT NULL
),
traces AS (
    SELECT
        trace_id,
        bool_or(parent_span_id IS NULL) AS has_root
    FROM base.spans
    GROUP BY trace_id
),
trace_sums AS (
    SELECT
        count(*) AS traces,
        count(*) FILTER (WHERE NOT has_root) AS rootless_traces
    FROM traces
)
SELECT
    checks.check_name,
    checks.finding_count::BIGINT AS finding_count,
    checks.total_count::BIGINT AS total_count
FROM
    sums,
    in_units,
    orphans,
    trace_sums,
    LATERAL (
        VALUES
            ('negative_durations', negative_durations, spans),
            ('dropped_attributes', dropped_attributes, spans),
            ('dropped_events', dropped_events, spans),
            ('dropped_links', dropped_links, spans),
            ('implausible_times', implausible_times, spans),
            ('spans_without_unit', spans - span_count, spans),
            ('missing_parents', missing_parents, spans),
            ('rootless_traces', rootless_traces, traces)
    ) AS checks (check_name, finding_count, total_count)
ORDER BY checks.check_name
