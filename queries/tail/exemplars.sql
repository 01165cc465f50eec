-- Units of the tail that show the excess of a stage best: those with the most time in it.
--
-- Reads tail_members (`unit_id`, `band`; band 0 = tail), tail_stage_rows and tail_units.
--
-- Parameters:
--   $limit: number of units for each stage.
-- Columns:
--   stage: the stage.
--   unit_id: the unit.
--   trace_id: its trace, NULL for a training step.
--   root_span_id: the span to look at first.
--   service_name: service of the unit.
--   name: name of the unit.
--   job_id: training job.
--   attempt: attempt of the job.
--   step: training step.
--   rank: rank in the job.
--   start_ns: start of the unit, nanoseconds since the epoch.
--   value_ns: metric of the unit in nanoseconds.
--   self_ns: exclusive time in the stage in nanoseconds.
WITH
tail_stages AS (
    SELECT
        tail_stage_rows.stage,
        tail_stage_rows.unit_id,
        sum(tail_stage_rows.self_ns)::BIGINT AS self_ns
    FROM tail_stage_rows
    SEMI JOIN (SELECT unit_id FROM tail_members WHERE band = 0) AS tail USING (unit_id)
    GROUP BY ALL
    HAVING sum(tail_stage_rows.self_ns) > 0
),
-- Of those with as much time as the last that is shown, which may be very many, only the first by trace.
limits AS (
    SELECT
        stage,
        list_min(max(self_ns, $limit)) AS least_ns
    FROM tail_stages
    GROUP BY stage
),
candidates AS (
    SELECT
        tail_stages.*,
        units.trace_id,
        units.root_span_id,
        units.step,
        units.rank,
        tail_stages.self_ns = limits.least_ns AS is_last
    FROM tail_stages
    INNER JOIN limits ON limits.stage = tail_stages.stage AND tail_stages.self_ns >= limits.least_ns
    INNER JOIN base.units USING (unit_id)
),
last_traces AS (
    SELECT
        stage,
        list_max(min(trace_id, $limit)) AS trace_id
    FROM candidates
    WHERE is_last
    GROUP BY stage
),
longest AS (
    SELECT
        candidates.stage,
        candidates.unit_id,
        candidates.self_ns
    FROM candidates
    LEFT JOIN last_traces USING (stage)
    WHERE NOT candidates.is_last OR coalesce(candidates.trace_id <= last_traces.trace_id, TRUE)
    -- Numbers of units depend on the order in which spans arrived, ids do not.
    QUALIFY row_number() OVER (
        PARTITION BY candidates.stage
        ORDER BY
            candidates.self_ns DESC,
            candidates.trace_id,
            candidates.root_span_id,
            candidates.step,
            candidates.rank,
            candidates.unit_id
    ) <= $limit
)
SELECT
    longest.stage,
    units.unit_id,
    units.trace_id,
    units.root_span_id,
    units.service_name,
    units.name,
    units.job_id,
    units.attempt,
    units.step,
    units.rank,
    units.start_ns,
    tail_units.value_ns,
    longest.self_ns
FROM longest
INNER JOIN units USING (unit_id)
INNER JOIN tail_units ON tail_units.unit_id = longest.unit_id AND tail_units.side = 0
ORDER BY
    longest.stage, longest.self_ns DESC, units.trace_id, units.root_span_id, units.step, units.rank, units.unit_id
