-- Stores the waits of the registered table `new_waits`.
--
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
INSERT INTO base.step_waits
SELECT
    $first_unit_id + unit AS unit_id,
    culprit_rank,
    culprit_stage,
    culprit_operation,
    wait_ns,
    culprit_step,
    basis
FROM new_waits
