-- Which units of a selection no answer counts together with the others, and why: the one rule of all questions.
--
-- Units whose times cannot be are in no answer. Where any other request calls a model, those that call none (health
-- checks, background work) are left out; not so where one ended badly and others of its service and operation do call
-- one: it failed on the way there. Requests that are seen from different layers (the client's own spans, a
-- gateway's, an engine's) may be the same ones twice, and start at other times: the layer that has most measured
-- requests answers, of equal ones the outermost. Where times are compared, work that messages start, which the requests
-- that send them do not wait for, is left out beside requests that ask for something themselves.
--
-- Reads population_candidates (`side`: 0 the selection, 1 the baseline selection; `unit_id`, `kind`, `service_name`,
-- `name`, `outcome`, `flags`, `seen_from`, `is_measured`: whether the unit has what is asked about).
-- Parameters:
--   $seen_from: the layer that answers, NULL for the one of the rule.
--   $messages: `counted` with the others, `aside`, or `only`.
-- Columns:
--   side: as in population_candidates.
--   unit_id: the unit.
--   reason: implausible times, without a call of a model, started by a message (or not), or seen from another layer:
--     `seen from engine`.
WITH
judged AS (
    SELECT
        side,
        unit_id,
        service_name,
        name,
        outcome,
        seen_from,
        is_measured,
        kind = 'request' AS is_request,
        coalesce(contains(flags, 'implausible_times'), FALSE) AS is_implausible,
        coalesce(contains(flags, 'from_message'), FALSE) AS is_from_message
    FROM population_candidates
),
calling AS (
    SELECT side, bool_or(seen_from != 'service') AS models_are_called
    FROM judged
    WHERE is_request AND NOT is_implausible AND ($messages != 'only' OR is_from_message)
    GROUP BY side
),
-- What a call of a model begins with.
asking AS (
    SELECT DISTINCT service_name, name, TRUE AS asks_model
    FROM judged
    WHERE is_request AND NOT is_implausible AND seen_from != 'service'
),
layers AS (
    SELECT
        split_part(seen_from, ' ', 1) AS layer,
        seen_from,
        count(*) FILTER (WHERE is_measured) AS measured_count,
        count(*) AS request_count
    FROM judged
    WHERE side = 0 AND is_request AND NOT is_implausible AND seen_from != 'service'
    GROUP BY seen_from
),
answering AS (
    SELECT coalesce(
        $seen_from::VARCHAR,
        (
            SELECT seen_from
            FROM layers
            ORDER BY
                measured_count DESC,
                request_count DESC,
                list_position(['client', 'gateway', 'engine'], layer) NULLS LAST,
                seen_from
            LIMIT 1
        )
    ) AS seen_from
),
reasons AS (
    SELECT
        judged.side,
        judged.unit_id,
        judged.is_from_message,
        CASE
            WHEN judged.is_implausible THEN 'implausible times'
            WHEN NOT judged.is_request OR NOT calling.models_are_called THEN NULL
            WHEN judged.seen_from = 'service' AND asking.asks_model AND judged.outcome NOT IN ('ok', 'unknown')
                THEN NULL
            WHEN judged.seen_from = 'service' THEN 'without a call of a model'
            WHEN judged.seen_from != answering.seen_from THEN 'seen from ' || judged.seen_from
        END AS reason
    FROM judged
    CROSS JOIN answering
    LEFT JOIN calling USING (side)
    LEFT JOIN asking
        ON asking.service_name IS NOT DISTINCT FROM judged.service_name AND asking.name = judged.name
),
-- Sides with requests that ask for something themselves.
sending AS (
    SELECT DISTINCT side, TRUE AS is_sending
    FROM reasons
    WHERE reason IS NULL AND NOT is_from_message
),
told AS (
    SELECT
        reasons.side,
        reasons.unit_id,
        CASE
            WHEN $messages = 'only' AND NOT reasons.is_from_message THEN 'not started by a message'
            WHEN
                $messages = 'aside' AND reasons.is_from_message AND sending.is_sending
                AND coalesce(reasons.reason, 'without a call of a model') = 'without a call of a model'
                THEN 'started by a message'
            ELSE reasons.reason
        END AS reason
    FROM reasons
    LEFT JOIN sending USING (side)
)
SELECT side, unit_id, reason
FROM told
WHERE reason IS NOT NULL
