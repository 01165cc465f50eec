-- Requests that were served although something in them failed, by what became of it.
--
-- Reads request_selection.
-- Columns:
--   how: retried (attempts were repeated), or handled (an error inside did not reach the client).
--   request_count: requests.
--   lost_ns: time of attempts that were repeated, in nanoseconds.
WITH
served AS (
    SELECT unit_id FROM request_selection WHERE outcome = 'ok'
),
retried AS (
    SELECT unit_stages.unit_id, sum(unit_stages.self_ns) AS lost_ns
    FROM base.unit_stages AS unit_stages
    SEMI JOIN served USING (unit_id)
    WHERE unit_stages.stage = 'retry'
    GROUP BY unit_stages.unit_id
),
handled AS (
    SELECT DISTINCT units.unit_id
    FROM (SELECT DISTINCT trace_id FROM base.spans WHERE status_code = 2) AS spans
    INNER JOIN base.units AS units USING (trace_id)
    SEMI JOIN served ON served.unit_id = units.unit_id
    ANTI JOIN retried ON retried.unit_id = units.unit_id
)
SELECT 'retried' AS how, count(*) AS request_count, coalesce(sum(lost_ns), 0)::BIGINT AS lost_ns FROM retried
UNION ALL BY NAME
SELECT 'handled' AS how, count(*) AS request_count, 0::BIGINT AS lost_ns FROM handled
