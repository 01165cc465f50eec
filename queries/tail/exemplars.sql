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
),
longest AS (
    SELECT tail_stages.*
    FROM tail_stages
    INNER JOIN base.units USING (unit_id)
    WHERE tail_stages.self_ns > 0
    -- Numbers of units depend on the order in which spans arrived, ids do not.
    QUALIFY row_number() OVER (
        PARTITION BY tail_stages.stage
        ORDER BY
            tail_stages.self_ns DESC, units.trace_id, units.root_span_id, units.step, units.rank, tail_stages.unit_id
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
