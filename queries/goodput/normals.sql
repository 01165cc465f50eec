-- The normal time of each stage: its median over the good requests of a group, requests without it counted as zero.
--
-- Reads judged_requests, late_terms, normal_members (`bin_no`, `group_no`: whose good requests make up a group; a bin
-- may be in several) and normal_groups (`group_no`, `good_count`).
-- Columns:
--   group_no: the group.
--   term: ttft, tpot or e2e; for tpot the time is per token after the first.
--   stage: the stage; one whose median is zero has no row.
--   normal_ns: nanoseconds.
WITH
terms AS (
    SELECT DISTINCT term FROM late_terms
),
good AS (
    SELECT normal_members.group_no, judged_requests.unit_id, judged_requests.gap_count
    FROM judged_requests
    INNER JOIN normal_members USING (bin_no)
    WHERE judged_requests.bucket = 'good'
),
spent AS (
    SELECT
        good.group_no,
        terms.term,
        unit_stages.stage,
        good.unit_id,
        sum(unit_stages.self_ns) / CASE WHEN terms.term = 'tpot' THEN any_value(good.gap_count)::DOUBLE ELSE 1 END AS spent_ns
    FROM good
    INNER JOIN base.unit_stages AS unit_stages USING (unit_id)
    INNER JOIN terms
        ON terms.term = 'e2e'
        OR terms.term = 'ttft' AND unit_stages."window" = 'ttft'
        OR terms.term = 'tpot' AND unit_stages."window" = 'decode' AND good.gap_count > 0
    GROUP BY good.group_no, terms.term, unit_stages.stage, good.unit_id
),
sorted AS (
    SELECT
        group_no,
        term,
        stage,
        list_sort(list(spent_ns)) AS spent_ns
    FROM spent
    GROUP BY ALL
),
-- Zeros stand before all others: element k of all is element k less the number of zeros of those that are not.
placed AS (
    SELECT
        *,
        normal_groups.good_count - len(sorted.spent_ns) AS zero_count,
        (normal_groups.good_count - 1) // 2 - zero_count AS lower_index,
        normal_groups.good_count // 2 - zero_count AS upper_index
    FROM sorted
    INNER JOIN normal_groups USING (group_no)
)
SELECT
    group_no,
    term,
    stage,
    (
        CASE WHEN lower_index >= 0 THEN spent_ns[lower_index + 1] ELSE 0 END + spent_ns[upper_index + 1]
    ) / 2 AS normal_ns
FROM placed
WHERE upper_index >= 0
