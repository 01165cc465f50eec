-- How far the clocks of training hosts differ, as far as collectives show it.
--
-- All ranks leave a synchronising collective at about the same time. A host whose ranks always leave by the same
-- time earlier or later than the others has another clock: the median over collectives of its distance from the
-- middle of all hosts is its offset, and it is constant where the median absolute deviation is at most
-- $spread_share of it. What the units of steps were corrected by is taken out: only what is left is told.
--
-- Parameters:
--   $jobs: list of jobs, NULL for all.
--   $has_hosts: whether the host of any rank is known; where none is, the spans are not looked through.
--   $minimum_count: collectives that a host must have been seen in.
--   $spread_share: largest deviation of an offset that is constant.
-- Columns:
--   check_name: `host_clocks`.
--   finding_count: difference between the earliest and the latest clock of a job in nanoseconds, the largest of all
--     jobs; 0 where none is seen.
--   total_count: median duration of a rank's part of a step in nanoseconds.
WITH
ranks AS (
    SELECT
        resource_id,
        job_id,
        attempt,
        rank,
        host_name
    FROM base.resources
    WHERE
        job_id IS NOT NULL
        AND host_name IS NOT NULL
        AND ($jobs IS NULL OR list_contains($jobs::VARCHAR[], job_id))
),
corrected AS (
    SELECT
        job_id,
        attempt,
        rank,
        step,
        shift_ns
    FROM base.units
    WHERE kind = 'step' AND shift_ns != 0
),
parts AS (
    SELECT
        ranks.job_id,
        ranks.attempt,
        ranks.host_name,
        spans.attributes['tracekit.step']::VARCHAR AS step,
        spans.attributes['tracekit.collective.group']::VARCHAR AS collective_group,
        spans.attributes['tracekit.collective.name']::VARCHAR AS collective_name,
        spans.attributes['tracekit.collective.seq']::VARCHAR AS collective_seq,
        spans.end_ns + coalesce(corrected.shift_ns, 0) AS end_ns
    FROM base.spans
    INNER JOIN ranks USING (resource_id)
    LEFT JOIN corrected
        ON corrected.job_id = ranks.job_id
        AND corrected.attempt = ranks.attempt
        AND corrected.rank = ranks.rank
        AND corrected.step = TRY_CAST(spans.attributes['tracekit.step'] AS BIGINT)
    -- Looking for an attribute that no span has takes long.
    WHERE $has_hosts AND spans.attributes['tracekit.collective.seq'] IS NOT NULL
),
host_ends AS (
    SELECT
        job_id,
        attempt,
        step,
        collective_group,
        collective_name,
        collective_seq,
        host_name,
        quantile_disc(end_ns, 0.5) AS end_ns
    FROM parts
    GROUP BY ALL
),
distances AS (
    SELECT
        job_id,
        host_name,
        (end_ns - first_ns) - quantile_cont(end_ns - first_ns, 0.5) OVER instance AS distance_ns
    FROM (
        SELECT
            *,
            min(end_ns) OVER (
                PARTITION BY job_id, attempt, step, collective_group, collective_name, collective_seq
            ) AS first_ns
        FROM host_ends
    ) AS measured
    WINDOW instance AS (
        PARTITION BY job_id, attempt, step, collective_group, collective_name, collective_seq
    )
),
offsets AS (
    SELECT
        job_id,
        host_name,
        median(distance_ns) AS offset_ns,
        mad(distance_ns) AS deviation_ns
    FROM distances
    GROUP BY ALL
    HAVING count(*) >= $minimum_count
),
clocks AS (
    SELECT
        job_id,
        max(offset_ns) - min(offset_ns) AS difference_ns
    FROM offsets
    GROUP BY job_id
    HAVING bool_or(abs(offset_ns) > 0 AND deviation_ns <= $spread_share * abs(offset_ns))
),
steps AS (
    SELECT coalesce(quantile_disc(end_ns - start_ns, 0.5), 0) AS step_ns
    FROM base.units
    WHERE kind = 'step' AND ($jobs IS NULL OR list_contains($jobs::VARCHAR[], job_id))
)
SELECT
    'host_clocks' AS check_name,
    coalesce(max(clocks.difference_ns), 0)::BIGINT AS finding_count,
    any_value(steps.step_ns)::BIGINT AS total_count
FROM steps
LEFT JOIN clocks ON true
