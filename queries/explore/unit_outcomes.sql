-- How many units of each kind ended how.
--
-- Columns:
--   kind: request or step.
--   outcome: ok, failed, aborted, rejected, invalid or unknown.
--   unit_count: number of units.
--   ttft_count: those of them whose time to first token is known.
--   first_ns: start of the first one, nanoseconds since the epoch.
--   last_ns: end of the last one, nanoseconds since the epoch.
SELECT
    kind,
    outcome,
    count(*) AS unit_count,
    count(ttft_ns) AS ttft_count,
    min(start_ns) AS first_ns,
    max(end_ns) AS last_ns
FROM units
GROUP BY ALL
ORDER BY kind, unit_count DESC, outcome
