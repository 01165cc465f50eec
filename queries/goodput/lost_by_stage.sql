-- How many misses each stage has, and how many would not be without its excess.
--
-- Every late request is one miss of the term that its bucket names, shared to the stages in proportion to what each
-- was above its normal. Late requests without any excess are intrinsic: too large for the limit, or nothing good to
-- compare with. The counterfactual asks for every term that a request misses, and does not sum.
--
-- Reads late_terms and goodput_excesses, made by `excesses.sql`.
-- Columns:
--   stage: the stage, or intrinsic.
--   bucket: late_ttft, late_tpot or late_e2e.
--   share_sum: sum of the shares.
--   would_be_good: late requests that would have met every term without the excess of this stage.
WITH
shared AS (
    SELECT
        unit_id,
        term,
        stage,
        excess_ns / sum(excess_ns) OVER (PARTITION BY unit_id) AS share
    FROM goodput_excesses
    WHERE is_charged
),
intrinsic AS (
    SELECT late_terms.unit_id, late_terms.term, 'intrinsic' AS stage, 1.0::DOUBLE AS share
    FROM late_terms
    ANTI JOIN shared USING (unit_id)
    WHERE late_terms.is_charged
),
lost AS (
    -- As decimal numbers, whose sum does not depend on the order in which threads add them.
    SELECT stage, 'late_' || term AS bucket, sum(share::DECIMAL(38, 18))::DOUBLE AS share_sum
    FROM (FROM shared UNION ALL BY NAME FROM intrinsic)
    GROUP BY ALL
),
charged AS (
    SELECT unit_id, 'late_' || term AS bucket FROM late_terms WHERE is_charged
),
saved AS (
    SELECT unit_id, stage
    FROM goodput_excesses
    WHERE would_hold
    GROUP BY unit_id, stage
    HAVING count(*) = any_value(miss_count)
),
saved_by_stage AS (
    SELECT saved.stage, charged.bucket, count(*) AS would_be_good
    FROM saved
    INNER JOIN charged USING (unit_id)
    GROUP BY ALL
)
SELECT
    stage,
    bucket,
    coalesce(lost.share_sum, 0) AS share_sum,
    coalesce(saved_by_stage.would_be_good, 0) AS would_be_good
FROM lost
FULL JOIN saved_by_stage USING (stage, bucket)
ORDER BY bucket, share_sum DESC, stage
