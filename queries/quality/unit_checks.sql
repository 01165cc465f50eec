-- What is wrong with the units of the store, one row a check.
--
-- Time of units whose times cannot be is in no sum.
--
-- Columns:
--   check_name: code of the check.
--   finding_count: units, or nanoseconds for checks that end in `_ns`, where it fails.
--   total_count: all units, or all nanoseconds.
WITH
judged AS (
    SELECT
        *,
        coalesce(flags LIKE '%implausible_times%', FALSE) AS is_implausible
    FROM base.units
),
sums AS (
    SELECT
        count(*) AS units,
        coalesce(sum(end_ns - start_ns) FILTER (WHERE NOT is_implausible), 0) AS wall_ns,
        count(*) FILTER (WHERE is_implausible) AS implausible_units,
        count(*) FILTER (WHERE orphan_count > 0) AS incomplete_units,
        coalesce(sum(orphan_ns) FILTER (WHERE NOT is_implausible), 0) AS orphan_ns,
        coalesce(sum(outside_ns) FILTER (WHERE NOT is_implausible), 0) AS outside_ns,
        coalesce(sum(post_root_ns) FILTER (WHERE NOT is_implausible), 0) AS post_root_ns,
        count(*) FILTER (WHERE conflict_count > 0) AS conflicting_units,
        count(*) FILTER (WHERE shift_ns != 0) AS shifted_units,
        count(*) FILTER (WHERE outcome = 'unknown') AS unknown_outcomes,
        count(*) FILTER (WHERE flags LIKE '%extra_roots%') AS extra_roots,
        count(*) FILTER (WHERE flags LIKE '%root_parent_missing%') AS beginning_missing,
        count(*) FILTER (WHERE flags LIKE '%repeated_spans%') AS repeated_spans,
        count(*) FILTER (WHERE flags LIKE '%several_step_spans%') AS several_step_spans,
        count(*) FILTER (WHERE kind = 'step' AND flags LIKE '%ranks_missing%') AS unmatched_collectives,
        count(*) FILTER (WHERE flags LIKE '%odd_collective_sizes%') AS collective_sizes,
        count(*) FILTER (WHERE kind = 'step') AS parts_of_steps,
        count(*) FILTER (WHERE flags LIKE '%several_calls%') AS several_calls,
        count(*) FILTER (WHERE regexp_matches(flags, '(^|,)joined(,|$)')) AS joined_units,
        count(*) FILTER (WHERE flags LIKE '%ambiguous_join%') AS ambiguous_joins,
        count(*) FILTER (WHERE flags LIKE '%shared_request_id%') AS shared_request_ids,
        count(*) FILTER (WHERE regexp_matches(flags, '(^|,)async(,|$)')) AS asynchronous_units
    FROM judged
),
unattributed AS (
    SELECT coalesce(sum(self_ns) FILTER (WHERE stage = 'unattributed'), 0) AS unattributed_ns
    FROM base.unit_stages
    ANTI JOIN (SELECT unit_id FROM judged WHERE is_implausible) AS held_out USING (unit_id)
)
SELECT
    checks.check_name,
    checks.finding_count::BIGINT AS finding_count,
    checks.total_count::BIGINT AS total_count
FROM
    sums,
    unattributed,
    LATERAL (
        VALUES
            ('implausible_units', implausible_units, units),
            ('incomplete_units', incomplete_units, units),
            ('orphan_ns', orphan_ns, wall_ns),
            ('outside_ns', outside_ns, wall_ns),
            ('post_root_ns', post_root_ns, wall_ns),
            ('unattributed_ns', unattributed_ns, wall_ns),
            ('conflicting_units', conflicting_units, units),
            ('shifted_units', shifted_units, units),
            ('unknown_outcomes', unknown_outcomes, units),
            ('extra_roots', extra_roots, units),
            ('beginning_missing', beginning_missing, units),
            ('repeated_spans', repeated_spans, units),
            ('several_step_spans', several_step_spans, parts_of_steps),
            ('collective_sizes', collective_sizes, parts_of_steps),
            ('unmatched_collectives', unmatched_collectives, parts_of_steps),
            ('several_calls', several_calls, units),
            ('joined_units', joined_units, units),
            ('ambiguous_joins', ambiguous_joins, units),
            ('shared_request_ids', shared_request_ids, units),
            ('asynchronous_units', asynchronous_units, units)
    ) AS checks (check_name, finding_count, total_count)
ORDER BY checks.check_name
