-- Stores the requests of the registered table `new_units`.
--
-- Reads the registered table `request_marks`: what else was noticed about requests, by their trace;
-- and `repeated_traces`: requests with spans that were recorded more than once.
--
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
--   $first_ns, $last_ns: earliest and latest start of the spans of the batch, nanoseconds since
--     the epoch.
INSERT INTO base.units
SELECT
    $first_unit_id + new_units.unit AS unit_id,
    'request' AS kind,
    root.trace_id,
    root.span_id AS root_span_id,
    NULL AS job_id,
    NULL AS attempt,
    NULL AS step,
    NULL AS rank,
    resources.service_name,
    root.name,
    new_units.model,
    new_units.start_ns,
    new_units.end_ns,
    new_units.first_token_ns,
    new_units.last_token_ns,
    new_units.input_tokens,
    new_units.output_tokens,
    new_units.outcome,
    new_units.vantage,
    root.attributes,
    new_units.span_count,
    new_units.orphan_count,
    new_units.orphan_ns,
    new_units.outside_count,
    new_units.outside_ns,
    new_units.post_root_ns,
    new_units.shift_ns,
    new_units.conflict_count,
    nullif(
        concat_ws(
            ',',
            new_units.flags,
            request_marks.flags,
            CASE WHEN repeated_traces.trace_id IS NOT NULL THEN 'repeated_spans' END
        ),
        ''
    ) AS flags,
    new_units.seen_from
FROM new_units
INNER JOIN base.spans AS root ON root.rowid = new_units.root_span_row
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN request_marks ON request_marks.trace_id::UUID = root.trace_id
LEFT JOIN repeated_traces ON repeated_traces.trace_id::UUID = root.trace_id
WHERE root.start_ns BETWEEN $first_ns AND $last_ns
