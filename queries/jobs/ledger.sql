-- The ledger of every job: accelerator time by leaf and owner.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id, leaf, owner: as in the view job_leaves.
--   ns: accelerator time, nanoseconds (DECIMAL without digits behind the point: beyond 64 bits for large jobs).
--   derived_ns: of it what follows from others because its own spans are missing.
SELECT
    job_id,
    leaf,
    owner,
    sum(accelerators::HUGEINT * each_ns)::DECIMAL(38, 0) AS ns,
    coalesce(sum(accelerators::HUGEINT * each_ns) FILTER (WHERE is_derived), 0)::DECIMAL(38, 0) AS derived_ns
FROM base.job_leaves
WHERE $job IS NULL OR job_id = $job
GROUP BY job_id, leaf, owner
ORDER BY job_id, leaf, owner
