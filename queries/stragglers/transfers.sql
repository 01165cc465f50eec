-- How long the collectives of each group of ranks took in each step that is looked at, from the arrival of the last
-- rank to the end on the last.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   attempt: attempt of the job, -1 where unknown.
--   step: number of the step.
--   collective_group: the group.
--   collective_name: kind of collective.
--   member_count: ranks that took part.
--   instance_count: collectives of the group in the step whose waiting and transfer can be told apart.
--   bytes: bytes that a rank told, NULL where one does not tell.
--   transfer_ns: transfer of the collectives, summed, each until its last rank left, in nanoseconds.
--   shortest_ns: the same until its first rank left.
--   wait_ns: waiting of all its ranks, hidden time included.
--   exposed_ns: transfer that no compute hid, summed over the ranks.
--   all_transfer_ns: transfer summed over the ranks.
--   late_rank: the rank that left last, by the sum.
SELECT
    looked_at_steps.job_id,
    looked_at_steps.attempt,
    looked_at_steps.step,
    step_collectives.collective_group,
    step_collectives.collective_name,
    max(step_collectives.member_count) AS member_count,
    max(step_collectives.instance_count) AS instance_count,
    max(step_collectives.bytes) AS bytes,
    max(step_collectives.transfer_ns)::BIGINT AS transfer_ns,
    min(step_collectives.shortest_ns)::BIGINT AS shortest_ns,
    sum(step_collectives.wait_ns)::BIGINT AS wait_ns,
    sum(step_collectives.exposed_ns)::BIGINT AS exposed_ns,
    sum(step_collectives.transfer_ns)::BIGINT AS all_transfer_ns,
    arg_max(looked_at_steps.rank, (step_collectives.transfer_ns, -looked_at_steps.rank)) AS late_rank
FROM looked_at_steps
INNER JOIN base.step_collectives USING (unit_id)
WHERE ($job IS NULL OR looked_at_steps.job_id = $job) AND step_collectives.instance_count > 0
GROUP BY ALL
ORDER BY ALL
