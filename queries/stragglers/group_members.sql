-- The ranks of each group of collectives, and the hosts that they run on.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id: the job.
--   collective_group: the group.
--   collective_name: kind of collective.
--   ranks: its ranks.
--   hosts: their hosts, where known.
SELECT
    looked_at_steps.job_id,
    step_collectives.collective_group,
    step_collectives.collective_name,
    list_sort(list(DISTINCT looked_at_steps.rank)) AS ranks,
    coalesce(list_sort(list(DISTINCT looked_at_steps.host_name) FILTER (WHERE looked_at_steps.host_name IS NOT NULL)), [])
        AS hosts
FROM looked_at_steps
INNER JOIN base.step_collectives USING (unit_id)
WHERE ($job IS NULL OR looked_at_steps.job_id = $job) AND step_collectives.instance_count > 0
GROUP BY ALL
ORDER BY ALL
