-- Stores the collectives of the registered table `new_collectives`.
--
-- Parameters:
--   $first_unit_id: what to add to `unit` for the unit's number in the store.
INSERT INTO base.step_collectives
SELECT
    $first_unit_id + unit AS unit_id,
    collective_group,
    collective_name,
    member_count,
    instance_count,
    unsplit_count,
    bytes,
    wait_ns,
    transfer_ns,
    shortest_ns,
    exposed_ns
FROM new_collectives
