-- On which host of each service a request was served: that on which its spans of the service last longest.
--
-- The instance stands for a host without a name. Services on one host differ in nothing and are left out.
-- Made into the temporary table `tail_hosts`, once for all that a comparison asks of hosts: it costs a pass over the spans.
-- Reads tail_members (`unit_id`, `band`; band 0 = tail) and tail_sampled, made by `sampled_units.sql`.
--
-- Parameters:
--   $rest_band: number of the band that the tail is compared with.
-- Columns:
--   unit_id: the request.
--   service_name: the service.
--   host: the host; no row where the request has no spans of the service.
WITH
hosts AS (
    SELECT
        resource_id,
        service_name,
        coalesce(host_name, service_instance_id) AS host
    FROM base.resources
    WHERE service_name IS NOT NULL AND coalesce(host_name, service_instance_id) IS NOT NULL
    QUALIFY min(host) OVER (PARTITION BY service_name) != max(host) OVER (PARTITION BY service_name)
),
asked AS (
    SELECT unit_id
    FROM tail_members
    WHERE band IN (0, $rest_band)
    UNION ALL
    SELECT unit_id
    FROM tail_sampled
),
members AS MATERIALIZED (
    SELECT
        units.unit_id,
        units.trace_id,
        units.start_ns,
        units.end_ns
    FROM base.units
    SEMI JOIN asked USING (unit_id)
    WHERE units.kind = 'request' AND EXISTS (FROM hosts)
),
-- By sender before anything is known of it: so only the traces that are asked about are read.
sent AS MATERIALIZED (
    SELECT
        members.unit_id,
        spans.resource_id,
        sum(spans.end_ns - spans.start_ns) AS duration_ns
    FROM base.spans
    INNER JOIN members ON members.trace_id = spans.trace_id
    WHERE spans.start_ns BETWEEN members.start_ns AND members.end_ns
    GROUP BY ALL
),
served AS (
    SELECT
        sent.unit_id,
        hosts.service_name,
        hosts.host,
        sum(sent.duration_ns) AS duration_ns
    FROM sent
    INNER JOIN hosts USING (resource_id)
    GROUP BY ALL
)
SELECT
    unit_id,
    service_name,
    arg_max(host, (duration_ns, host)) AS host
FROM served
GROUP BY unit_id, service_name
