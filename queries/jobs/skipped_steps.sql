-- Steps whose work was thrown away because gradients overflowed: mixed precision skips their update.
--
-- A step says so on its span of the lowest rank (optimizer.overflow, or what other loss scalers call it), or in a log
-- record of the job, which names the step or lies in its span. All ranks agree on the gradients' norm: what one says
-- holds for the step. Where several attempts have a step, the record is of the one whose process sent it.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: its attempt, NULL where unknown.
--   step: number of the step.
--   rank_count: ranks with a part of the step.
--   ns: duration of the step over all its ranks, nanoseconds.
WITH
steps AS (
    SELECT job_id, attempt, step, rank, root_span_id, end_ns - start_ns AS ns
    FROM base.units
    WHERE kind = 'step' AND job_id IS NOT NULL AND ($job IS NULL OR job_id = $job)
),
first_ranks AS (
    SELECT job_id, attempt, min(rank) AS rank
    FROM steps
    GROUP BY job_id, attempt
),
said_by_spans AS (
    SELECT units.job_id, units.attempt, units.step
    FROM base.units
    INNER JOIN first_ranks
        ON units.job_id = first_ranks.job_id
        AND units.attempt IS NOT DISTINCT FROM first_ranks.attempt
        AND units.rank IS NOT DISTINCT FROM first_ranks.rank
    WHERE
        units.kind = 'step'
        AND coalesce(
            TRY_CAST(units.attributes['optimizer.overflow'] AS BOOLEAN),
            TRY_CAST(units.attributes['optimizer.step_skipped'] AS BOOLEAN),
            TRY_CAST(units.attributes['tracekit.step.skipped'] AS BOOLEAN),
            TRY_CAST(units.attributes['found_inf'] AS BOOLEAN),
            FALSE
        )
),
records AS (
    SELECT
        resources.job_id,
        resources.attempt,
        TRY_CAST(logs.attributes['tracekit.step'] AS BIGINT) AS step,
        logs.span_id
    FROM base.logs
    INNER JOIN base.resources USING (resource_id)
    WHERE
        resources.job_id IS NOT NULL
        AND ($job IS NULL OR resources.job_id = $job)
        AND regexp_matches(logs.body::VARCHAR, '(?i)overflow.*skip|skip.*overflow')
),
said_by_records AS (
    SELECT steps.job_id, steps.attempt, steps.step
    FROM records
    INNER JOIN steps
        ON records.job_id = steps.job_id
        AND coalesce(records.attempt, steps.attempt) IS NOT DISTINCT FROM steps.attempt
        AND records.step = steps.step
    UNION
    SELECT steps.job_id, steps.attempt, steps.step
    FROM records
    INNER JOIN steps ON records.job_id = steps.job_id AND records.span_id = steps.root_span_id
),
skipped AS (
    FROM said_by_spans
    UNION
    FROM said_by_records
)
SELECT
    steps.job_id,
    steps.attempt,
    steps.step,
    count(DISTINCT steps.rank) AS rank_count,
    sum(steps.ns)::BIGINT AS ns
FROM steps
INNER JOIN skipped
    ON steps.job_id = skipped.job_id
    AND steps.attempt IS NOT DISTINCT FROM skipped.attempt
    AND steps.step = skipped.step
GROUP BY ALL
ORDER BY ALL
