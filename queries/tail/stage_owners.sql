-- Who can do something about each stage, for stages of the taxonomy and for all others.
--
-- A call upstream without a span is the provider's, unless requests of the same service have spans of an engine: then the
-- engine is known and its span is missing, and it is the platform's.
--
-- Parameters:
--   $stages: list of stages.
-- Columns:
--   stage: the stage.
--   owner: client, application, platform, provider or nobody; of `unsplit(a|b)` the owners of both.
--   layer: part of the system that the stage belongs to.
WITH
asked AS (
    SELECT unnest($stages::VARCHAR[]) AS stage
),
parts AS (
    SELECT
        stage,
        unnest(
            CASE
                WHEN stage LIKE 'unsplit(%)' THEN string_split(substr(stage, 9, length(stage) - 9), '|')
                ELSE [stage]
            END
        ) AS part
    FROM asked
),
-- Services whose requests call upstream, and whether other requests of theirs have spans of an engine.
callers AS (
    SELECT
        units.service_name,
        bool_or(unit_stages.stage = 'upstream') AS calls_upstream,
        bool_or(engine_stages.stage IS NOT NULL) AS has_engine
    FROM base.unit_stages
    INNER JOIN base.units USING (unit_id)
    LEFT JOIN base.stages AS engine_stages
        ON engine_stages.stage = unit_stages.stage AND engine_stages.layer = 'engine'
    WHERE list_contains($stages::VARCHAR[], 'upstream')
    GROUP BY units.service_name
),
upstream AS (
    SELECT
        unnest(
            list_distinct(list(CASE WHEN has_engine THEN 'platform' ELSE 'provider' END))
        ) AS owner
    FROM callers
    WHERE calls_upstream
),
owned AS (
    SELECT
        parts.stage,
        coalesce(
            upstream.owner, taxonomy.owner, CASE WHEN parts.part LIKE 'edge:%' THEN 'platform' ELSE 'application' END
        ) AS owner,
        coalesce(
            taxonomy.layer, CASE WHEN parts.part LIKE 'edge:%' THEN 'network' ELSE 'service' END
        ) AS layer
    FROM parts
    LEFT JOIN base.stages AS taxonomy ON taxonomy.stage = parts.part
    LEFT JOIN upstream ON parts.part = 'upstream'
)
SELECT
    stage,
    array_to_string(list_sort(list_distinct(list(owner))), '|') AS owner,
    array_to_string(list_sort(list_distinct(list(layer))), '|') AS layer
FROM owned
GROUP BY stage
ORDER BY stage
