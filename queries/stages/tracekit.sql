-- Operations of spans that name their stage themselves, by the attribute `tracekit.stage`.
--
-- A value is a stage code (`gw.auth`, `step.compute`) or one of the short words that a training
-- loop uses. A code that the taxonomy does not know is kept as it is. `step` and `attempt`
-- enclose other work: their own time is not explained by being inside them.
--
-- Reads batch_spans.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself.
--   stage: stage code.
--   operation: name of the span.
WITH
words (word, stage) AS (
    VALUES
        ('step', 'unattributed'),
        ('attempt', 'unattributed'),
        ('init', 'job.init'),
        ('checkpoint_load', 'job.checkpoint_load'),
        ('checkpoint_save', 'job.checkpoint_save'),
        ('custom', 'job.custom'),
        ('forward', 'step.compute'),
        ('backward', 'step.compute'),
        ('optimizer', 'step.compute'),
        ('compute', 'step.compute'),
        ('copy', 'step.copy'),
        ('collective', 'step.exposed_comm'),
        ('data_load', 'step.data_load')
),
named AS (
    SELECT
        span_row,
        name,
        attributes['tracekit.stage']::VARCHAR AS word
    FROM batch_spans
)
SELECT
    named.span_row,
    0 AS part,
    coalesce(words.stage, named.word) AS stage,
    named.name AS operation
FROM named
LEFT JOIN words USING (word)
WHERE named.word IS NOT NULL
