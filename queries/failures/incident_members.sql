-- The requests of each incident: failures of one cause, close in time, and what they took with them.
--
-- One cause is one service, host, stage and kind of error; time-outs are one whatever stage ran into them. A cause that is quiet for longer than $quiet_ns and comes
-- again is another incident.
--
-- Reads failure_causes and failure_collateral, made by `collateral.sql`.
-- Parameters:
--   $quiet_ns: time without failures that ends an incident, nanoseconds.
--   $endings: endings that incidents are made of.
-- Columns:
--   incident: number of the incident, by time of its first failure, from 1.
--   unit_id: a request of it.
--   is_collateral: whether it was cancelled because another one of it failed.
WITH
chosen AS (
    SELECT
        unit_id,
        failed_ns,
        service,
        host,
        CASE WHEN rule != 'messenger' THEN stage END AS stage,
        CASE WHEN rule = 'messenger' THEN rule ELSE coalesce(error_type, ending) END AS error_kind
    FROM failure_causes
    WHERE list_contains($endings::VARCHAR[], ending)
),
spaced AS (
    SELECT
        *,
        coalesce(failed_ns - lag(failed_ns) OVER same_cause > $quiet_ns, TRUE) AS is_first
    FROM chosen
    WINDOW same_cause AS (PARTITION BY service, host, stage, error_kind ORDER BY failed_ns, unit_id)
),
runs AS (
    SELECT
        *,
        count(*) FILTER (WHERE is_first) OVER (
            PARTITION BY service, host, stage, error_kind ORDER BY failed_ns, unit_id
        ) AS run_no
    FROM spaced
),
begun AS (
    SELECT service, host, stage, error_kind, run_no, min(failed_ns) AS first_ns, min(unit_id) AS first_unit_id
    FROM runs
    GROUP BY ALL
),
numbered AS (
    SELECT *, row_number() OVER (ORDER BY first_ns, first_unit_id) AS incident
    FROM begun
),
members AS (
    SELECT numbered.incident, runs.unit_id
    FROM runs
    INNER JOIN numbered
        ON numbered.service IS NOT DISTINCT FROM runs.service
        AND numbered.host IS NOT DISTINCT FROM runs.host
        AND numbered.stage IS NOT DISTINCT FROM runs.stage
        AND numbered.error_kind = runs.error_kind
        AND numbered.run_no = runs.run_no
)
SELECT incident, unit_id, FALSE AS is_collateral FROM members
UNION ALL BY NAME
SELECT members.incident, failure_collateral.unit_id, TRUE AS is_collateral
FROM failure_collateral
INNER JOIN members ON members.unit_id = failure_collateral.cause_unit_id
