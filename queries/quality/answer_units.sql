-- What is known to be wrong with the units that an answer stands on.
--
-- Reads tail_units, made by `tail/units.sql`.
--
-- Columns:
--   unit_count: units that enter the answer.
--   wall_ns: their duration in nanoseconds, summed.
--   orphan_ns: time covered by spans whose parent is missing.
--   outside_ns: time of spans that lies outside their parents and was cut off.
--   post_root_ns: time of spans after their root had ended.
--   unattributed_ns: time that no span or attribute explains.
--   shift_ns: clock corrections, summed.
--   shifted_count: units with a clock correction.
--   incomplete_count: units with spans whose parent is missing.
--   conflict_count: units with impossible values that were not used.
--   extra_root_count: units with further root spans, whose time is not looked at.
--   beginning_missing_count: units that hang below a span that did not arrive.
--   repeated_span_count: units with spans that were recorded more than once.
--   ambiguous_join_count: units with parts of one kind from several traces beside each other.
--   shared_request_id_count: units that name a request by an id that others have too.
--   several_step_count: parts of ranks in steps that are there more than once under one number; the first is looked at.
--   odd_size_count: parts of ranks in steps with collectives whose sizes cannot be or disagree.
--   unmatched_collective_count: parts of ranks in steps with collectives that lack partners.
--   unknown_outcome_count: units whose outcome is unknown.
--   vantage_count: number of different vantage points that the units were seen from.
--   step_count: training steps that the units are parts of, as far as the size of their world is known.
--   missing_rank_count: those of them that lack ranks of their world.
WITH
chosen AS MATERIALIZED (
    SELECT unit_id
    FROM tail_units
    WHERE left_out IS NULL OR left_out = 'first step of an attempt'
),
entering AS (
    SELECT units.*
    FROM base.units
    SEMI JOIN chosen USING (unit_id)
),
unexplained AS (
    SELECT coalesce(sum(self_ns), 0)::BIGINT AS unattributed_ns
    FROM base.unit_stages
    SEMI JOIN chosen USING (unit_id)
    WHERE stage = 'unattributed'
),
entering_steps AS (
    SELECT
        training_steps.job_id,
        training_steps.attempt,
        training_steps.step
    FROM training_steps
    SEMI JOIN chosen USING (unit_id)
),
steps AS (
    SELECT
        training_steps.job_id,
        training_steps.attempt,
        training_steps.step,
        count(DISTINCT training_steps.rank) AS rank_count
    FROM training_steps
    SEMI JOIN entering_steps USING (job_id, attempt, step)
    GROUP BY ALL
),
step_sums AS (
    SELECT
        count(*) AS step_count,
        count(*) FILTER (WHERE steps.rank_count < training_worlds.world_size) AS missing_rank_count
    FROM steps
    INNER JOIN training_worlds USING (job_id, attempt)
),
unit_sums AS (
    SELECT
        count(*) AS unit_count,
        coalesce(sum(end_ns - start_ns), 0)::BIGINT AS wall_ns,
        coalesce(sum(orphan_ns), 0)::BIGINT AS orphan_ns,
        coalesce(sum(outside_ns), 0)::BIGINT AS outside_ns,
        coalesce(sum(post_root_ns), 0)::BIGINT AS post_root_ns,
        coalesce(sum(shift_ns), 0)::BIGINT AS shift_ns,
        count(*) FILTER (WHERE shift_ns != 0) AS shifted_count,
        count(*) FILTER (WHERE orphan_count > 0) AS incomplete_count,
        count(*) FILTER (WHERE conflict_count > 0) AS conflict_count,
        count(*) FILTER (WHERE flags LIKE '%extra_roots%') AS extra_root_count,
        count(*) FILTER (WHERE flags LIKE '%root_parent_missing%') AS beginning_missing_count,
        count(*) FILTER (WHERE flags LIKE '%repeated_spans%') AS repeated_span_count,
        count(*) FILTER (WHERE flags LIKE '%ambiguous_join%') AS ambiguous_join_count,
        count(*) FILTER (WHERE flags LIKE '%shared_request_id%') AS shared_request_id_count,
        count(*) FILTER (WHERE flags LIKE '%several_step_spans%') AS several_step_count,
        count(*) FILTER (WHERE flags LIKE '%odd_collective_sizes%') AS odd_size_count,
        count(*) FILTER (WHERE flags LIKE '%ranks_missing%') AS unmatched_collective_count,
        count(*) FILTER (WHERE outcome = 'unknown') AS unknown_outcome_count,
        count(DISTINCT vantage) AS vantage_count
    FROM entering
)
SELECT
    unit_sums.unit_count,
    unit_sums.wall_ns,
    unit_sums.orphan_ns,
    unit_sums.outside_ns,
    unit_sums.post_root_ns,
    unexplained.unattributed_ns,
    unit_sums.shift_ns,
    unit_sums.shifted_count,
    unit_sums.incomplete_count,
    unit_sums.conflict_count,
    unit_sums.extra_root_count,
    unit_sums.beginning_missing_count,
    unit_sums.repeated_span_count,
    unit_sums.ambiguous_join_count,
    unit_sums.shared_request_id_count,
    unit_sums.several_step_count,
    unit_sums.odd_size_count,
    unit_sums.unmatched_collective_count,
    unit_sums.unknown_outcome_count,
    unit_sums.vantage_count,
    step_sums.step_count,
    step_sums.missing_rank_count
FROM unit_sums, unexplained, step_sums
