-- How many units of the selection and of the baseline selection do not enter a tail question, by reason.
--
-- Reads tail_units, made by `units.sql`.
--
-- Columns:
--   side: 0 = the selection, 1 = the baseline selection.
--   reason: why they do not enter.
--   unit_count: number of units.
SELECT
    side,
    left_out AS reason,
    count(*) AS unit_count
FROM tail_units
WHERE left_out IS NOT NULL
GROUP BY ALL
ORDER BY side, unit_count DESC, reason
