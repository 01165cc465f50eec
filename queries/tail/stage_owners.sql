-- Who can do something about each stage, for stages of the taxonomy and for all others.
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
owned AS (
    SELECT
        parts.stage,
        coalesce(
            taxonomy.owner, CASE WHEN parts.part LIKE 'edge:%' THEN 'platform' ELSE 'application' END
        ) AS owner,
        coalesce(
            taxonomy.layer, CASE WHEN parts.part LIKE 'edge:%' THEN 'network' ELSE 'service' END
        ) AS layer
    FROM parts
    LEFT JOIN base.stages AS taxonomy ON taxonomy.stage = parts.part
)
SELECT
    stage,
    array_to_string(list_sort(list_distinct(list(owner))), '|') AS owner,
    array_to_string(list_sort(list_distinct(list(layer))), '|') AS layer
FROM owned
GROUP BY stage
ORDER BY stage
