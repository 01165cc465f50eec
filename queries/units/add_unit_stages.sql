-- Stores the stages of the registered table `new_stages`, in its order.
--
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
INSERT INTO base.unit_stages
SELECT
    $first_unit_id + unit AS unit_id,
    "window",
    stage,
    operation,
    self_ns,
    alternative_ns,
    operation_count
FROM new_stages
