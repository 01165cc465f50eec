-- Stores the steps of the registered table `new_units`.
--
-- Reads dirty_steps.
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
--   $first_ns, $last_ns: earliest and latest start of the spans of the batch, nanoseconds since
--     the epoch.
INSERT INTO base.units
SELECT
    $first_unit_id + new_units.unit AS unit_id,
    'step' AS kind,
    root.trace_id,
    root.span_id AS root_span_id,
    dirty_steps.job_id,
    dirty_steps.attempt,
    dirty_steps.step,
    new_units.rank,
    resources.service_name,
    root.name,
    NULL AS model,
    new_units.start_ns,
    new_units.end_ns,
    NULL AS first_token_ns,
    NULL AS last_token_ns,
    NULL AS input_tokens,
    NULL AS output_tokens,
    new_units.outcome,
    'rank' AS vantage,
    root.attributes,
    new_units.span_count,
    0 AS orphan_count,
    0 AS orphan_ns,
    new_units.outside_count,
    new_units.outside_ns,
    new_units.post_root_ns,
    new_units.shift_ns,
    new_units.conflict_count,
    new_units.flags,
    'rank' AS seen_from
FROM new_units
INNER JOIN dirty_steps USING (step_no)
INNER JOIN base.spans AS root ON root.rowid = new_units.root_span_row
LEFT JOIN base.resources USING (resource_id)
WHERE root.start_ns BETWEEN $first_ns AND $last_ns
