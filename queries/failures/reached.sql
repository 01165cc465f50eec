-- The spans whose failure can have reached the client: all but attempts that were repeated, errors that a handler
-- stopped, and what ran below those.
--
-- An attempt is repeated where a later span of the same name, kind and target under the same parent begins after it.
-- A handler stopped an error where the span above says that it ended well, or tells of no error and went on with
-- other work afterwards; but not where a span further up ended badly without any other work after the error: then the
-- span above only says that it is done.
--
-- Reads failure_spans, made by `spans.sql`.
-- Columns:
--   unit_id, span_id: the span.
--   depth: spans above it.
--   above_error_id: the nearest span above it that ended badly, NULL for none.
--   hop_count: spans above it that ended badly.
--   is_cut_off: whether it tells of no kind of error, and a time-out above it ended it.
WITH RECURSIVE
repeated AS (
    SELECT DISTINCT attempt.unit_id, attempt.span_id
    FROM failure_spans AS attempt
    INNER JOIN failure_spans AS later
        ON later.unit_id = attempt.unit_id
        AND later.parent_span_id = attempt.parent_span_id
        AND later.name = attempt.name
        AND later.kind = attempt.kind
        AND later.target IS NOT DISTINCT FROM attempt.target
        AND later.start_ns >= attempt.end_ns
        AND later.span_id != attempt.span_id
    WHERE attempt.is_error OR attempt.is_cancelled
),
last_work AS (
    SELECT unit_id, parent_span_id AS span_id, max(start_ns) AS last_start_ns
    FROM failure_spans
    WHERE parent_span_id IS NOT NULL
    GROUP BY ALL
),
handled AS (
    SELECT error.unit_id, error.span_id, error.end_ns, handler.parent_span_id AS above_id
    FROM failure_spans AS error
    INNER JOIN failure_spans AS handler
        ON handler.unit_id = error.unit_id AND handler.span_id = error.parent_span_id
    INNER JOIN last_work ON last_work.unit_id = handler.unit_id AND last_work.span_id = handler.span_id
    WHERE error.is_error
        AND NOT handler.is_error
        AND NOT handler.is_cancelled
        AND NOT handler.is_root
        AND (handler.says_ok OR last_work.last_start_ns >= error.end_ns)
),
-- Spans above the handler, with the last work that began below each of them.
further_up AS (
    SELECT handled.unit_id, handled.span_id, handled.end_ns, handled.above_id, 0 AS hop_count
    FROM handled
    UNION
    SELECT further_up.unit_id, further_up.span_id, further_up.end_ns, above.parent_span_id AS above_id, hop_count + 1
    FROM further_up
    INNER JOIN failure_spans AS above
        ON above.unit_id = further_up.unit_id AND above.span_id = further_up.above_id
    WHERE further_up.hop_count < 1000
),
passed_on AS (
    SELECT DISTINCT further_up.unit_id, further_up.span_id
    FROM further_up
    INNER JOIN failure_spans AS above
        ON above.unit_id = further_up.unit_id AND above.span_id = further_up.above_id
    INNER JOIN last_work ON last_work.unit_id = above.unit_id AND last_work.span_id = above.span_id
    WHERE above.is_error AND NOT above.is_specific AND last_work.last_start_ns < further_up.end_ns
),
stopped AS (
    SELECT unit_id, span_id
    FROM handled
    ANTI JOIN passed_on USING (unit_id, span_id)
),
passable AS MATERIALIZED (
    SELECT *
    FROM failure_spans
    ANTI JOIN (FROM repeated UNION FROM stopped) AS ended USING (unit_id, span_id)
),
tops AS (
    SELECT passable.*
    FROM passable
    LEFT JOIN failure_spans AS above
        ON above.unit_id = passable.unit_id AND above.span_id = passable.parent_span_id
    WHERE above.span_id IS NULL OR passable.is_root
),
reached AS (
    SELECT
        unit_id,
        span_id,
        is_error,
        is_timeout,
        0 AS depth,
        NULL::UBIGINT AS above_error_id,
        0 AS hop_count,
        FALSE AS is_cut_off
    FROM tops
    UNION
    SELECT
        passable.unit_id,
        passable.span_id,
        passable.is_error,
        passable.is_timeout OR reached.is_timeout AS is_timeout,
        reached.depth + 1 AS depth,
        CASE WHEN reached.is_error THEN reached.span_id ELSE reached.above_error_id END AS above_error_id,
        reached.hop_count + reached.is_error::INTEGER AS hop_count,
        reached.is_timeout AND NOT passable.is_specific AS is_cut_off
    FROM reached
    INNER JOIN passable ON passable.unit_id = reached.unit_id AND passable.parent_span_id = reached.span_id
    -- A cycle of parents must end.
    WHERE reached.depth < 1000
)
SELECT unit_id, span_id, depth, above_error_id, hop_count, is_cut_off
FROM reached
