-- Series of one metric, by its canonical name or the sender's own, with what they are grouped by.
--
-- Parameters:
--   $metric: name of the metric, as `metric_series` has it, or as the sender spells it.
--   $by: what groups are told apart by, as a list of service_name, host_name, model.
-- Columns:
--   stream_id: the series.
--   metric: canonical name.
--   sender_name: the sender's name.
--   unit: unit of the values.
--   kind: gauge (also sums that fall), sum, histogram, exponential_histogram or summary.
--   service_name: service of the group, NULL where groups are not told apart by it.
--   host_name: host of the group.
--   model: model of the group.
SELECT
    stream_id,
    metric,
    sender_name,
    unit,
    if(kind = 'sum' AND NOT is_monotonic, 'gauge', kind) AS kind,
    if(list_contains($by, 'service_name'), service_name, NULL) AS service_name,
    if(list_contains($by, 'host_name'), host_name, NULL) AS host_name,
    if(list_contains($by, 'model'), model, NULL) AS model
FROM metric_series
WHERE metric = $metric OR sender_name = $metric OR metric_key(sender_name) = metric_key($metric)
