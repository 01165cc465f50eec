-- The spans that a batch of training steps consists of, as `batch_spans`; see there.
--
-- Here trace_no numbers the part of one trace of one rank in one step.
--
-- Made into the temporary table `batch_rows`. Reads batch_members and the macro `read_attributes`.
SELECT
    spans.rowid AS span_row,
    batch_members.member_no AS trace_no,
    spans.trace_id,
    spans.span_id,
    spans.parent_span_id,
    spans.name,
    spans.kind,
    spans.status_code,
    spans.start_ns,
    spans.end_ns,
    spans.resource_id,
    coalesce(resources.service_name, 'unknown') AS service_name,
    scopes.name AS scope_name,
    read_attributes(spans.attributes) AS attributes
FROM base.spans
INNER JOIN batch_members ON batch_members.span_row = spans.rowid
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id)
WHERE spans.start_ns BETWEEN getvariable('batch_first_ns') AND getvariable('batch_last_ns')
