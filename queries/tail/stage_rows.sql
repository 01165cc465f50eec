-- Stages of the units that a tail question compares, over the windows that its metric covers.
--
-- Reads tail_members: the units to compare (`unit_id`, several rows a unit allowed).
--
-- Parameters:
--   $windows: windows that the metric covers, as a list; NULL for the whole units.
-- Columns:
--   unit_id: the unit.
--   unit_window: window of the unit that the time lies in.
--   stage: the stage.
--   operation: name of the span that the time belongs to.
--   self_ns: exclusive time in nanoseconds.
--   alternative_ns: the same under the other rule of ownership.
--   call_count: operations that the time is made of.
SELECT
    unit_stages.unit_id,
    unit_stages."window" AS unit_window,
    unit_stages.stage,
    unit_stages.operation,
    unit_stages.self_ns,
    unit_stages.alternative_ns,
    unit_stages.operation_count AS call_count
FROM base.unit_stages
SEMI JOIN tail_members USING (unit_id)
WHERE $windows IS NULL OR list_contains($windows::VARCHAR[], unit_stages."window")
