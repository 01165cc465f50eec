-- The spans that a batch of traces consists of: what every mapping in queries/stages reads.
--
-- Made into the temporary table `batch_rows`, over which the view `batch_spans` lies. The macro
-- `read_attributes` makes a struct of the attributes that mappings read; in the view it has all
-- fields of mapped_attributes, NULL where the span does not have the attribute.
-- The traces of the batch are the rows of `batch_traces`; no span outside the two variables
-- `batch_first_ns` and `batch_last_ns` belongs to them, which spares most of the scan.
--
-- Columns:
--   span_row: number of the span in base.spans; the same for everybody while the transaction that
--     reads the batch lasts.
--   trace_no: dense number of the trace.
--   trace_id, span_id, parent_span_id: ids as numbers; parent_span_id is NULL for a root.
--   name, kind, status_code: as in base.spans.
--   start_ns, end_ns: interval of the span, nanoseconds since the epoch.
--   resource_id, service_name: who sent it; service_name is `unknown` where the resource does
--     not say.
--   scope_name: instrumentation scope.
--   attributes: struct of texts, the attributes of the span that mappings read.
SELECT
    spans.rowid AS span_row,
    batch_traces.trace_no,
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
INNER JOIN batch_traces USING (trace_id)
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN base.scopes USING (scope_id)
WHERE spans.start_ns BETWEEN getvariable('batch_first_ns') AND getvariable('batch_last_ns')
