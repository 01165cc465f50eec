-- Spans of a batch that were recorded more than once under other ids: the copies, and which one stays.
--
-- Copies have parent, name, kind, sender, both times and all attributes in common, and at least one attribute. Two or
-- three such spans are copies; more are rather as many like calls by a coarse clock. The one with the most spans below
-- it stays, of equal ones that with the smallest id.
--
-- Reads batch_rows.
-- Columns:
--   span_row: a copy.
--   trace_id, trace_no: its trace.
--   span_id: its id.
--   kept_span_id: id of the span that stays.
WITH
alike AS (
    SELECT
        trace_no,
        parent_span_id,
        start_ns,
        end_ns,
        name,
        kind,
        resource_id,
        unnest(list(span_row)) AS span_row
    FROM batch_rows
    GROUP BY trace_no, parent_span_id, start_ns, end_ns, name, kind, resource_id
    HAVING count(*) BETWEEN 2 AND 3 AND end_ns > start_ns
),
described AS (
    SELECT
        alike.*,
        spans.trace_id,
        batch_rows.span_id,
        spans.attributes::JSON::VARCHAR AS attributes
    FROM alike
    INNER JOIN batch_rows USING (span_row)
    INNER JOIN base.spans AS spans ON spans.rowid = alike.span_row
),
children AS (
    SELECT batch_rows.trace_no, batch_rows.parent_span_id AS span_id, count(*) AS child_count
    FROM batch_rows
    SEMI JOIN described
        ON described.trace_no = batch_rows.trace_no AND described.span_id = batch_rows.parent_span_id
    GROUP BY batch_rows.trace_no, batch_rows.parent_span_id
),
ranked AS (
    SELECT
        described.span_row,
        described.trace_id,
        described.trace_no,
        described.span_id,
        first_value(described.span_id) OVER copies AS kept_span_id
    FROM described
    LEFT JOIN children USING (trace_no, span_id)
    WHERE described.attributes NOT IN ('{}', 'null')
    WINDOW copies AS (
        PARTITION BY
            described.trace_no, described.parent_span_id, described.start_ns, described.end_ns, described.name,
            described.kind, described.resource_id, described.attributes
        ORDER BY coalesce(children.child_count, 0) DESC, described.span_id
    )
)
SELECT span_row, trace_id, trace_no, span_id, kept_span_id
FROM ranked
WHERE span_id != kept_span_id
ORDER BY span_row
