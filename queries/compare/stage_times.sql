-- Times of stages in the served requests of one side of a comparison.
--
-- Reads compared_units (`unit_id`, `position`) and compared_stages (`stage`, `stage_no`).
-- Columns:
--   position: number of the request.
--   stage_no: number of the stage.
--   window_no: 0 before the first token, 1 until the last one, 2 any other.
--   self_ns: exclusive time in nanoseconds.
SELECT
    compared_units.position,
    compared_stages.stage_no,
    CASE unit_stages."window" WHEN 'ttft' THEN 0 WHEN 'decode' THEN 1 ELSE 2 END::TINYINT AS window_no,
    unit_stages.self_ns
FROM base.unit_stages AS unit_stages
INNER JOIN compared_units USING (unit_id)
INNER JOIN compared_stages USING (stage)
