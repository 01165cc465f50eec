-- What the waiting of training steps was charged to, in the tail and in the baseline.
--
-- Who was waited for is in step_waits. What it did in that very time is often its usual work, come late: a rank that
-- loads for long computes while the others wait. So the waiting for a rank in a step is charged to what it took longer
-- for than the fastest rank of its role in the step, in proportion, where that explains half of it; else, if it had come
-- late from the step before, to what it was waited for then; else to what it did meanwhile. The transfer of a collective
-- stays what it is.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail, 1 = baseline).
--
-- Columns:
--   culprit_rank: rank that was waited for.
--   culprit_stage: what that rank took long for.
--   culprit_operation: name of its span.
--   culprit_host: host of that rank, NULL where unknown.
--   tail_ns: waiting time in nanoseconds, summed over the units of the tail.
--   baseline_ns: the same over the units of the baseline.
WITH
waits AS (
    SELECT
        tail_members.band,
        tail_members.unit_id,
        coalesce(units.job_id, '') AS job_id,
        coalesce(units.attempt, -1) AS attempt,
        coalesce(step_waits.culprit_step, units.step) AS step,
        step_waits.culprit_rank AS rank,
        step_waits.culprit_stage AS stage,
        step_waits.culprit_operation AS operation,
        step_waits.wait_ns,
        coalesce(step_waits.culprit_step < units.step, FALSE) AS is_earlier,
        step_waits.culprit_stage IN ('step.exposed_comm', 'step.slow_network')
        OR step_waits.culprit_stage LIKE 'unsplit(%' AS is_transfer
    FROM tail_members
    INNER JOIN base.units USING (unit_id)
    INNER JOIN base.step_waits USING (unit_id)
    WHERE tail_members.band <= 1 AND step_waits.basis = 'collective'
),
steps AS (
    SELECT
        training_steps.unit_id,
        training_steps.job_id,
        training_steps.attempt,
        training_steps.step,
        training_steps.rank,
        coalesce(training_ranks.role, '') AS role,
        count(*) OVER (
            PARTITION BY training_steps.job_id, training_steps.attempt, training_steps.step, training_ranks.role
        ) AS rank_count
    FROM training_steps
    SEMI JOIN waits
        ON waits.job_id = training_steps.job_id
        AND waits.attempt = training_steps.attempt
        AND waits.step = training_steps.step
    LEFT JOIN training_ranks
        ON training_ranks.job_id = training_steps.job_id
        AND training_ranks.attempt = training_steps.attempt
        AND training_ranks.rank = training_steps.rank
),
own AS (
    SELECT
        steps.job_id,
        steps.attempt,
        steps.step,
        steps.rank,
        steps.role,
        steps.rank_count,
        work.stage,
        work.operation,
        sum(work.self_ns) AS own_ns
    FROM steps
    INNER JOIN (
        SELECT unit_id, stage, operation, self_ns FROM base.unit_stages
        UNION ALL
        SELECT unit_id, stage, operation, self_ns FROM base.step_lead_ins
    ) AS work USING (unit_id)
    WHERE
        work.stage NOT IN ('step.straggler_wait', 'step.exposed_comm', 'step.slow_network', 'step.pipeline_bubble')
        AND work.stage NOT LIKE 'unsplit(%'
    GROUP BY ALL
),
longer AS (
    SELECT
        job_id,
        attempt,
        step,
        rank,
        stage,
        operation,
        own_ns - CASE WHEN count(*) OVER peers = rank_count THEN min(own_ns) OVER peers ELSE 0 END AS longer_ns
    FROM own
    WHERE rank_count > 1
    WINDOW peers AS (PARTITION BY job_id, attempt, step, role, stage, operation)
),
portions AS (
    SELECT
        job_id,
        attempt,
        step,
        rank,
        stage,
        operation,
        sum(longer_ns) OVER (
            PARTITION BY job_id, attempt, step, rank ORDER BY stage, operation
        ) AS until_ns,
        longer_ns,
        sum(longer_ns) OVER (PARTITION BY job_id, attempt, step, rank) AS whole_ns
    FROM longer
    WHERE longer_ns > 0
),
whole AS (
    SELECT
        job_id,
        attempt,
        step,
        rank,
        max(whole_ns) AS whole_ns
    FROM portions
    GROUP BY ALL
),
held AS (
    SELECT
        waits.band,
        waits.unit_id,
        waits.job_id,
        waits.attempt,
        waits.step,
        waits.rank,
        sum(waits.wait_ns) AS wait_ns,
        2 * coalesce(max(whole.whole_ns), 0) >= sum(waits.wait_ns) AS is_explained
    FROM waits
    LEFT JOIN whole USING (job_id, attempt, step, rank)
    WHERE NOT waits.is_transfer
    GROUP BY ALL
),
before AS (
    SELECT *
    FROM waits
    WHERE is_earlier
    -- Usual work after a transfer that held the rank is late by the transfer.
    QUALIFY is_transfer OR NOT bool_or(is_transfer) OVER (PARTITION BY band, unit_id, rank)
),
earlier AS (
    SELECT
        band,
        unit_id,
        rank,
        stage,
        operation,
        wait_ns,
        sum(wait_ns) OVER (PARTITION BY band, unit_id, rank ORDER BY stage, operation) AS until_ns,
        sum(wait_ns) OVER (PARTITION BY band, unit_id, rank) AS whole_ns,
        is_transfer
    FROM before
),
late AS (
    SELECT
        held.*
    FROM held
    INNER JOIN base.units ON units.unit_id = held.unit_id
    SEMI JOIN earlier ON earlier.band = held.band AND earlier.unit_id = held.unit_id AND earlier.rank = held.rank
    WHERE
        NOT held.is_explained
        AND (
            held.step = units.step
            OR (held.band, held.unit_id, held.rank) IN (SELECT (band, unit_id, rank) FROM earlier WHERE is_transfer)
        )
),
charged AS (
    SELECT
        held.band,
        held.job_id,
        held.attempt,
        held.rank,
        portions.stage,
        portions.operation,
        held.wait_ns::HUGEINT * portions.until_ns // portions.whole_ns
        - held.wait_ns::HUGEINT * (portions.until_ns - portions.longer_ns) // portions.whole_ns AS wait_ns
    FROM held
    INNER JOIN portions USING (job_id, attempt, step, rank)
    WHERE held.is_explained
    UNION ALL
    SELECT
        late.band,
        late.job_id,
        late.attempt,
        late.rank,
        earlier.stage,
        earlier.operation,
        late.wait_ns::HUGEINT * earlier.until_ns // earlier.whole_ns
        - late.wait_ns::HUGEINT * (earlier.until_ns - earlier.wait_ns) // earlier.whole_ns AS wait_ns
    FROM late
    INNER JOIN earlier USING (band, unit_id, rank)
    UNION ALL
    SELECT
        waits.band,
        waits.job_id,
        waits.attempt,
        waits.rank,
        waits.stage,
        waits.operation,
        waits.wait_ns
    FROM waits
    LEFT JOIN held USING (band, unit_id, job_id, attempt, step, rank)
    LEFT JOIN late USING (band, unit_id, job_id, attempt, step, rank)
    WHERE waits.is_transfer OR (NOT held.is_explained AND late.rank IS NULL)
)
SELECT
    charged.rank AS culprit_rank,
    charged.stage AS culprit_stage,
    charged.operation AS culprit_operation,
    min(training_ranks.host_name) AS culprit_host,
    coalesce(sum(charged.wait_ns) FILTER (WHERE charged.band = 0), 0)::BIGINT AS tail_ns,
    coalesce(sum(charged.wait_ns) FILTER (WHERE charged.band = 1), 0)::BIGINT AS baseline_ns
FROM charged
LEFT JOIN training_ranks
    ON training_ranks.job_id = charged.job_id
    AND training_ranks.attempt = charged.attempt
    AND training_ranks.rank = charged.rank
GROUP BY charged.rank, charged.stage, charged.operation
ORDER BY culprit_rank, culprit_stage, culprit_operation
