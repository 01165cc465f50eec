-- Times of stages in good requests.
--
-- Reads good_positions (`unit_id`, `position`).
-- Parameters:
--   $windows: windows whose time is wanted, NULL for all.
-- Columns:
--   position: number of the request.
--   stage: the stage, as a number in the order of its names.
--   is_ttft, is_decode: whether the time lies before the first token, or between first and last.
--   self_ns: exclusive time in nanoseconds.
SELECT
    good_positions.position,
    stage_numbers.stage_no AS stage,
    unit_stages."window" = 'ttft' AS is_ttft,
    unit_stages."window" = 'decode' AS is_decode,
    unit_stages.self_ns
FROM base.unit_stages AS unit_stages
INNER JOIN good_positions USING (unit_id)
INNER JOIN stage_numbers USING (stage)
WHERE $windows::VARCHAR[] IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window")
