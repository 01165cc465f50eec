-- What each stage means and whose it is.
--
-- Columns:
--   stage: dotted code of the stage.
--   unit_kind: unit it belongs to: request, step, job, or none.
--   windows: windows that it may lie in.
--   layer: part of the system that it is in.
--   owner: whose it is.
--   description: what it means.
SELECT
    stage,
    unit_kind,
    windows,
    layer,
    owner,
    description
FROM stages
ORDER BY unit_kind, layer, stage
