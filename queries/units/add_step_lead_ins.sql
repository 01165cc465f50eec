-- Stores the lead-ins of the registered table `new_lead_ins`.
--
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
INSERT INTO base.step_lead_ins
SELECT
    $first_unit_id + unit AS unit_id,
    stage,
    operation,
    self_ns
FROM new_lead_ins
