-- What the spans of a batch of training steps tell about their step.
--
-- Reads batch_spans, batch_members.
-- Columns:
--   span_row: the span.
--   step, step_no, previous_no, is_context, rank, world_size, host, is_sharded, is_between: as in batch_members.
--   is_step: whether it is the span of the whole step.
--   is_failed: whether it ended with an error.
--   is_async: whether nothing waits for it.
--   collective_group, collective_name, collective_seq: which collective it is one rank's part
--     of; NULL where it is none or does not say.
--   collective_bytes: size of what it moves, NULL where it does not say.
SELECT
    batch_members.span_row,
    batch_members.step,
    batch_members.step_no,
    batch_members.previous_no,
    batch_members.is_context,
    batch_members.rank,
    batch_members.world_size,
    batch_members.host,
    batch_members.is_sharded,
    batch_members.is_between,
    coalesce(batch_spans.attributes['tracekit.stage']::VARCHAR = 'step', FALSE) AS is_step,
    batch_spans.status_code = 2 AS is_failed,
    coalesce(TRY_CAST(batch_spans.attributes['tracekit.async'] AS BOOLEAN), FALSE) AS is_async,
    batch_spans.attributes['tracekit.collective.group']::VARCHAR AS collective_group,
    batch_spans.attributes['tracekit.collective.name']::VARCHAR AS collective_name,
    TRY_CAST(batch_spans.attributes['tracekit.collective.seq'] AS BIGINT) AS collective_seq,
    TRY_CAST(batch_spans.attributes['tracekit.collective.bytes'] AS BIGINT) AS collective_bytes
FROM batch_members
INNER JOIN batch_spans USING (span_row)
