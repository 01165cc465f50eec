-- Every request that was not served with its first cause.
--
-- Reads failure_causes, failure_collateral and incident_members.
-- Columns:
--   unit_id, trace_id, ending: the request and how it ended.
--   rule: as in first_causes; collateral where a sibling's failure cancelled it, left where the client left by itself.
--   span_id, failed_ns, service, host, stage, operation, error_type, message: the cause; of a collateral request that
--     of its sibling.
--   incident: the incident that it is part of, NULL for none.
SELECT
    failure_causes.unit_id,
    replace(failure_causes.trace_id::VARCHAR, '-', '') AS trace_id,
    failure_causes.ending,
    CASE
        WHEN failure_collateral.unit_id IS NOT NULL THEN 'collateral'
        WHEN starts_with(failure_causes.ending, 'aborted_') THEN 'left'
        ELSE failure_causes.rule
    END AS rule,
    format('{:016x}', coalesce(culprit.span_id, failure_causes.span_id)) AS span_id,
    coalesce(culprit.failed_ns, failure_causes.failed_ns) AS failed_ns,
    CASE WHEN culprit.unit_id IS NULL THEN failure_causes.service ELSE culprit.service END AS service,
    CASE WHEN culprit.unit_id IS NULL THEN failure_causes.host ELSE culprit.host END AS host,
    CASE WHEN culprit.unit_id IS NULL THEN failure_causes.stage ELSE culprit.stage END AS stage,
    coalesce(culprit.operation, failure_causes.operation) AS operation,
    CASE WHEN culprit.unit_id IS NULL THEN failure_causes.error_type ELSE culprit.error_type END AS error_type,
    CASE WHEN culprit.unit_id IS NULL THEN failure_causes.message ELSE culprit.message END AS message,
    incident_members.incident
FROM failure_causes
LEFT JOIN failure_collateral USING (unit_id)
LEFT JOIN failure_causes AS culprit ON culprit.unit_id = failure_collateral.cause_unit_id
LEFT JOIN incident_members ON incident_members.unit_id = failure_causes.unit_id
ORDER BY failure_causes.unit_id
