-- Units whose spans go: requests of the traces in the temporary table `doomed_spans`, and steps that ended.
--
-- Parameters:
--   $before_ns: what ended earlier goes, nanoseconds since the epoch.
-- Columns:
--   unit_id: the units that go.
SELECT unit_id
FROM base.units
WHERE
    (kind = 'request' AND trace_id IN (SELECT trace_id FROM doomed_spans))
    OR (kind = 'step' AND end_ns < $before_ns)
ORDER BY unit_id
