-- Units that a tail question is about, each with the duration that the question explains and its class.
--
-- A class holds units that should take the same time: the same kind of request and model, and token counts
-- in the same powers of two (only counts that the metric can depend on). Steps are classed by job.
-- The first step of an attempt, which compiles and warms up, is left out where the attempt has enough others and the
-- side has, too.
--
-- Reads tail_selection: the view `units` with the columns `side` (0 = the selection, 1 = the baseline selection) and
-- `value_ns`, the metric; unit_populations, made by `population/left_out.sql`; and
-- tail_described, made by `described_units.sql`.
--
-- Parameters:
--   $metric: name of the metric.
--   $unit_kind: kind of the units that have it.
--   $depends_on: columns with the token counts that it can depend on, as a list.
--   $outcome: outcome that a unit must have to enter, or `any`.
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   unit_id: the unit.
--   start_ns: its start, nanoseconds since the epoch.
--   value_ns: its metric in nanoseconds (tpot: nanoseconds per token), NULL where it has none.
--   population: kind of request and model, or the job.
--   input_bucket: power of two at or below the number of input tokens, -1 where unknown or of no influence.
--   output_bucket: the same for output tokens.
--   input_tokens: number of prompt tokens.
--   output_tokens: number of generated tokens.
--   left_out: why the unit does not enter, NULL where it does.
WITH
first_steps AS (
    SELECT
        job_id,
        attempt,
        min(step) AS first_step
    FROM base.units
    WHERE kind = 'step' AND $unit_kind = 'step'
    GROUP BY job_id, attempt
    -- A few steps cannot spare one.
    HAVING count(DISTINCT step) > 8
),
warm_up AS (
    SELECT units.unit_id
    FROM base.units
    INNER JOIN first_steps
        ON first_steps.job_id IS NOT DISTINCT FROM units.job_id
        AND first_steps.attempt IS NOT DISTINCT FROM units.attempt
        AND first_steps.first_step = units.step
    WHERE units.kind = 'step'
),
sides_with_others AS (
    SELECT DISTINCT side
    FROM tail_selection
    WHERE kind = 'step' AND $unit_kind = 'step' AND unit_id NOT IN (FROM warm_up)
),
measured AS (
    SELECT
        tail_selection.* REPLACE (
            coalesce(tail_selection.model::VARCHAR, tail_described.model) AS model,
            coalesce(tail_selection.input_tokens, tail_described.input_tokens) AS input_tokens,
            coalesce(tail_selection.output_tokens, tail_described.output_tokens) AS output_tokens
        ),
        unit_id IN (FROM warm_up) AS warms_up,
        sides_with_others.side IS NOT NULL AS has_other_steps
    FROM tail_selection
    LEFT JOIN tail_described USING (unit_id)
    LEFT JOIN sides_with_others ON sides_with_others.side = tail_selection.side
    WHERE kind = $unit_kind
)
SELECT
    measured.side,
    measured.unit_id,
    start_ns,
    value_ns,
    CASE kind
        WHEN 'request' THEN concat_ws(' ', service_name, name, model)
        ELSE coalesce(job_id, '')
    END AS population,
    CASE
        WHEN list_contains($depends_on, 'input_tokens') AND input_tokens > 0 THEN floor(log2(input_tokens))::TINYINT
        ELSE -1
    END AS input_bucket,
    CASE
        WHEN list_contains($depends_on, 'output_tokens') AND output_tokens > 0 THEN floor(log2(output_tokens))::TINYINT
        ELSE -1
    END AS output_bucket,
    input_tokens,
    output_tokens,
    CASE
        WHEN unit_populations.reason IS NOT NULL THEN unit_populations.reason
        WHEN warms_up AND has_other_steps THEN 'first step of an attempt'
        WHEN $outcome != 'any' AND outcome != $outcome THEN 'outcome ' || outcome
        WHEN value_ns IS NULL THEN 'no ' || $metric
        WHEN value_ns < 0 THEN 'negative ' || $metric
    END AS left_out
FROM measured
LEFT JOIN unit_populations USING (side, unit_id)
