-- What it took after each attempt until the next one made steps: accelerator time of the next attempt's start.
--
-- Parameters:
--   $job: only this job, NULL for all.
-- Columns:
--   job_id, attempt: the attempt that started again.
--   ns: accelerator time of queue, gang wait, provision, start and restore, nanoseconds.
SELECT
    job_id,
    attempt,
    sum(accelerators::HUGEINT * each_ns)::DECIMAL(38, 0) AS ns
FROM base.job_leaves
WHERE ($job IS NULL OR job_id = $job)
    AND leaf IN (
        'job.queue', 'job.gang_wait', 'job.provision', 'job.init', 'job.checkpoint_load',
        'unsplit(job.queue|job.gang_wait)'
    )
GROUP BY job_id, attempt
ORDER BY job_id, attempt
