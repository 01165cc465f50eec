-- Incidents with their first cause and what they cost.
--
-- The first failure in time stands for the incident. Lost time is what the requests of the incident spent in engines,
-- in attempts that were repeated, and in calls to models that sent no spans.
--
-- Reads failure_causes and incident_members.
-- Columns:
--   incident: its number.
--   unit_id, trace_id, span_id: request and span of the first failure.
--   kind: how it ended.
--   first_ns, last_ns: first and last failure, nanoseconds since the epoch.
--   rule, service, host: the cause; see first_causes.
--   stage: the most frequent one.
--   origin_ns: how long the span of the first failure lasted.
--   operation, error_type, message: what the first failure says.
--   failed_count, collateral_count: requests that failed, and that were cancelled with them.
--   tokens: tokens that they tell.
--   lost_ns: engine time.
--   waited_ns: time that clients waited.
WITH
costs AS (
    SELECT
        incident_members.incident,
        sum(unit_stages.self_ns) FILTER (
            WHERE unit_stages.stage IN ('retry', 'upstream')
                OR regexp_matches(unit_stages.stage, '^(unsplit\()?(eng|kv)[.]')
        ) AS lost_ns
    FROM incident_members
    INNER JOIN base.unit_stages AS unit_stages USING (unit_id)
    GROUP BY incident_members.incident
),
counts AS (
    SELECT
        incident_members.incident,
        count(*) FILTER (WHERE NOT incident_members.is_collateral) AS failed_count,
        count(*) FILTER (WHERE incident_members.is_collateral) AS collateral_count,
        sum(coalesce(units.input_tokens, 0) + coalesce(units.output_tokens, 0)) AS tokens,
        sum(units.end_ns - units.start_ns) AS waited_ns
    FROM incident_members
    INNER JOIN base.units AS units USING (unit_id)
    GROUP BY incident_members.incident
),
firsts AS (
    SELECT
        incident_members.incident,
        failure_causes.*,
        min(failure_causes.failed_ns) OVER (PARTITION BY incident_members.incident) AS first_ns,
        max(failure_causes.failed_ns) OVER (PARTITION BY incident_members.incident) AS last_ns,
        mode(failure_causes.stage) OVER (PARTITION BY incident_members.incident) AS usual_stage
    FROM incident_members
    INNER JOIN failure_causes USING (unit_id)
    WHERE NOT incident_members.is_collateral
    QUALIFY row_number() OVER (
        PARTITION BY incident_members.incident ORDER BY failure_causes.failed_ns, failure_causes.unit_id
    ) = 1
)
SELECT
    firsts.incident,
    firsts.unit_id,
    replace(firsts.trace_id::VARCHAR, '-', '') AS trace_id,
    format('{:016x}', firsts.span_id) AS span_id,
    firsts.ending AS kind,
    firsts.first_ns,
    firsts.last_ns,
    firsts.rule,
    firsts.service,
    firsts.host,
    firsts.usual_stage AS stage,
    firsts.origin_ns,
    firsts.operation,
    firsts.error_type,
    firsts.message,
    counts.failed_count,
    counts.collateral_count,
    counts.tokens::BIGINT AS tokens,
    coalesce(costs.lost_ns, 0)::BIGINT AS lost_ns,
    counts.waited_ns::BIGINT AS waited_ns
FROM firsts
INNER JOIN counts USING (incident)
LEFT JOIN costs USING (incident)
ORDER BY counts.failed_count DESC, firsts.incident
