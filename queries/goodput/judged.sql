-- Every request of a goodput question with its bucket: good, or the one reason why it is not.
--
-- The first reason that applies counts: how it ended, then a configured term that cannot be measured, then the terms
-- in the order ttft, tpot, e2e. A term holds up to and including its limit. The limit of tpot is compared with whole
-- nanoseconds: time from the first to the last token against limit times tokens after the first.
--
-- Reads request_selection, request_endings and slo_limits (`slo_class`, `ttft_limit_ns`, `tpot_limit_ns`,
-- `e2e_limit_ns`; NULL where a term is not configured).
-- Parameters:
--   $is_e2e_to_last_token: whether e2e ends with the last token, as benchmark clients see it, and not with the response.
--   $needs_two_tokens: whether tpot of a response with one token is unmeasurable (else it holds).
-- Columns:
--   unit_id, slo_class: the request and its class.
--   start_ns: its start, nanoseconds since the epoch.
--   close_ns: its end, the last token where e2e ends with it.
--   bucket: good, rejected, shed, invalid, failed, timed_out, aborted_before, aborted_after, late_ttft, late_tpot,
--     late_e2e or unknown.
--   misses_ttft, misses_tpot, misses_e2e: which terms a served request misses.
--   ttft_ns, decode_ns, e2e_ns: its times in nanoseconds.
--   gap_count: tokens after the first.
--   ttft_limit_ns, tpot_limit_ns, e2e_limit_ns: its limits.
--   lacks_ttft, lacks_tpot, lacks_e2e: configured terms that a served request cannot be judged by.
--   bin_no: number of the bin; requests of one bin should take the same time. It is the number of the population
--     (service, name, model) times 4096, plus 64 times the power of two at or below the input tokens, plus that of
--     the output tokens; each plus one, 0 where the count is unknown.
WITH
measured AS (
    SELECT
        units.unit_id,
        units.slo_class,
        units.start_ns,
        CASE WHEN $is_e2e_to_last_token THEN coalesce(units.last_token_ns, units.end_ns) ELSE units.end_ns END AS close_ns,
        units.outcome,
        request_endings.ending,
        units.first_token_ns - units.start_ns AS ttft_ns,
        units.last_token_ns - units.first_token_ns AS decode_ns,
        units.output_tokens - 1 AS gap_count,
        CASE
            WHEN $is_e2e_to_last_token THEN units.last_token_ns - units.start_ns
            ELSE units.end_ns - units.start_ns
        END AS e2e_ns,
        slo_limits.ttft_limit_ns,
        slo_limits.tpot_limit_ns,
        slo_limits.e2e_limit_ns,
        concat_ws(' ', units.service_name, units.name, units.model) AS population,
        CASE WHEN units.input_tokens > 0 THEN floor(log2(units.input_tokens))::BIGINT ELSE -1 END AS input_bucket,
        CASE WHEN units.output_tokens > 0 THEN floor(log2(units.output_tokens))::BIGINT ELSE -1 END AS output_bucket
    FROM request_selection AS units
    INNER JOIN slo_limits USING (slo_class)
    LEFT JOIN request_endings USING (unit_id)
),
tested AS (
    SELECT
        *,
        outcome = 'ok' AS is_served,
        ttft_limit_ns IS NOT NULL AND ttft_ns IS NULL AS no_ttft,
        tpot_limit_ns IS NOT NULL AND CASE
            WHEN gap_count IS NULL THEN TRUE
            WHEN gap_count <= 0 THEN $needs_two_tokens
            ELSE decode_ns IS NULL
        END AS no_tpot,
        e2e_limit_ns IS NOT NULL AND e2e_ns IS NULL AS no_e2e,
        coalesce(ttft_ns > ttft_limit_ns, FALSE) AS over_ttft,
        coalesce(gap_count > 0 AND decode_ns::HUGEINT > tpot_limit_ns::HUGEINT * gap_count, FALSE) AS over_tpot,
        coalesce(e2e_ns > e2e_limit_ns, FALSE) AS over_e2e
    FROM measured
),
populations AS (
    SELECT population, row_number() OVER (ORDER BY population) - 1 AS population_no
    FROM (SELECT DISTINCT population FROM measured)
)
SELECT
    unit_id,
    slo_class,
    start_ns,
    close_ns,
    CASE
        WHEN ending IS NOT NULL THEN ending
        WHEN NOT is_served OR no_ttft OR no_tpot OR no_e2e THEN 'unknown'
        WHEN over_ttft THEN 'late_ttft'
        WHEN over_tpot THEN 'late_tpot'
        WHEN over_e2e THEN 'late_e2e'
        ELSE 'good'
    END AS bucket,
    is_served AND over_ttft AS misses_ttft,
    is_served AND over_tpot AS misses_tpot,
    is_served AND over_e2e AS misses_e2e,
    ttft_ns,
    decode_ns,
    e2e_ns,
    gap_count,
    ttft_limit_ns,
    tpot_limit_ns,
    e2e_limit_ns,
    is_served AND no_ttft AS lacks_ttft,
    is_served AND no_tpot AS lacks_tpot,
    is_served AND no_e2e AS lacks_e2e,
    population_no * 4096 + (input_bucket + 1) * 64 + output_bucket + 1 AS bin_no
FROM tested
INNER JOIN populations USING (population)
