-- By how much each stage of a late request was above its normal, for each term that the request misses.
--
-- Reads late_terms, late_groups (`bin_no`, `group_no`: whose normal the late requests of a bin are compared with) and
-- goodput_normals (`group_no`, `term`, `stage`,
-- `normal_ns`; for tpot per token after the first).
-- Columns:
--   unit_id, term, is_charged, miss_count: as in late_terms.
--   stage: the stage; those not above their normal have no row.
--   excess_ns: nanoseconds above normal (for tpot over all tokens after the first).
--   would_hold: whether the term would hold without them.
WITH
spent AS (
    SELECT
        late_terms.unit_id,
        late_terms.term,
        unit_stages.stage,
        sum(unit_stages.self_ns) AS spent_ns
    FROM late_terms
    INNER JOIN base.unit_stages AS unit_stages USING (unit_id)
    WHERE late_terms.term = 'e2e'
        OR late_terms.term = 'ttft' AND unit_stages."window" = 'ttft'
        OR late_terms.term = 'tpot' AND unit_stages."window" = 'decode'
    GROUP BY ALL
),
above AS (
    SELECT
        late_terms.*,
        spent.stage,
        spent.spent_ns - coalesce(goodput_normals.normal_ns, 0) * late_terms.gap_count AS excess_ns
    FROM spent
    INNER JOIN late_terms USING (unit_id, term)
    INNER JOIN late_groups USING (bin_no)
    LEFT JOIN goodput_normals
        ON goodput_normals.group_no = late_groups.group_no
        AND goodput_normals.term = spent.term
        AND goodput_normals.stage = spent.stage
)
SELECT
    unit_id,
    term,
    is_charged,
    miss_count,
    stage,
    excess_ns::DOUBLE AS excess_ns,
    value_ns - excess_ns <= limit_ns AS would_hold
FROM above
WHERE excess_ns > 0
