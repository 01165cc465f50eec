-- Operations of Triton Inference Server: `InferRequest`, below it a span for each model (ensembles
-- nest), below that `compute`. Their events tell the stages.
--
-- A model's queue goes from QUEUE_START in its own span to COMPUTE_START in that of its
-- computation; a request that was cancelled in the queue has no computation. Inside `compute` come
-- the copy of the input, the inference and the copy of the output. What a language model does in an
-- inference, prefill or decode, nobody can tell apart; models that are called pre- or
-- postprocessing, as in the usual ensembles, turn text into tokens and back.
--
-- Over gRPC a request exists only from GRPC_WAITREAD_END on; the wait before it stays unexplained.
-- A response may be sent while the computation still closes, so stages can overlap; the span that
-- ends last has the time. What events tell that come in the wrong order, or lie outside their span by more than
-- 1 ms + 1 %, is a conflict: it is not used and the time stays unexplained.
--
-- Reads batch_spans, base.span_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; from 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part with the name of what it is after a slash.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL for the span itself.
--   source, quality: what a part rests on.
--   vantage: engine.
--   model: name of the model, of an ensemble that of the ensemble.
--   outcome: ok where a computation ran or the response was complete, aborted where the request
--     left the queue without one.
--   conflicts: names of the values that were not used, comma-separated.
WITH
requests AS (
    SELECT *, 'request' AS part_of
    FROM batch_spans
    WHERE name = 'InferRequest'
),
models AS MATERIALIZED (
    SELECT *, 'model' AS part_of
    FROM batch_spans
    WHERE name != 'InferRequest' AND attributes['triton.model_name'] IS NOT NULL
),
computations AS MATERIALIZED (
    SELECT
        compute.*,
        'compute' AS part_of,
        models.span_row AS model_row,
        models.name AS model_name
    FROM batch_spans AS compute
    INNER JOIN models
        ON models.trace_no = compute.trace_no AND models.span_id = compute.parent_span_id
    WHERE compute.name = 'compute'
),
known AS (
    SELECT * FROM requests
    UNION ALL BY NAME
    SELECT * FROM models
    UNION ALL BY NAME
    SELECT * FROM computations
),
marks AS MATERIALIZED (
    SELECT
        known.span_row,
        min(span_events.time_ns) FILTER (WHERE span_events.name = 'HTTP_RECV_START')
            AS recv_start_ns,
        min(span_events.time_ns) FILTER (WHERE span_events.name = 'HTTP_RECV_END') AS recv_end_ns,
        min(span_events.time_ns) FILTER (WHERE span_events.name LIKE '%\_SEND\_START' ESCAPE '\')
            AS send_start_ns,
        max(span_events.time_ns) FILTER (WHERE span_events.name LIKE '%\_SEND\_END' ESCAPE '\')
            AS send_end_ns,
        count(*) FILTER (WHERE span_events.name = 'INFER_RESPONSE_COMPLETE') > 0 AS is_complete,
        min(span_events.time_ns) FILTER (WHERE span_events.name = 'QUEUE_START') AS queue_start_ns,
        min(span_events.time_ns) FILTER (WHERE span_events.name = 'COMPUTE_START')
            AS compute_start_ns,
        min(span_events.time_ns) FILTER (WHERE span_events.name = 'COMPUTE_INPUT_END')
            AS input_end_ns,
        max(span_events.time_ns) FILTER (WHERE span_events.name = 'COMPUTE_OUTPUT_START')
            AS output_start_ns,
        max(span_events.time_ns) FILTER (WHERE span_events.name = 'COMPUTE_END') AS compute_end_ns
    FROM known
    INNER JOIN base.span_events USING (trace_id, span_id)
    GROUP BY known.span_row
),
-- When each model's computation began; ensembles have none of their own.
computed AS (
    SELECT
        computations.model_row AS span_row,
        min(coalesce(marks.compute_start_ns, computations.start_ns)) AS compute_start_ns
    FROM computations
    LEFT JOIN marks USING (span_row)
    GROUP BY computations.model_row
),
told AS (
    SELECT
        requests.span_row,
        1 AS part,
        'gw.ingress' AS stage,
        requests.name || '/receive' AS operation,
        marks.recv_start_ns AS start_ns,
        marks.recv_end_ns AS end_ns
    FROM requests
    INNER JOIN marks USING (span_row)
    UNION ALL
    SELECT
        requests.span_row,
        2,
        'out.stream',
        requests.name || '/send',
        marks.send_start_ns,
        marks.send_end_ns
    FROM requests
    INNER JOIN marks USING (span_row)
    UNION ALL
    SELECT
        models.span_row,
        3,
        'eng.queue',
        models.name || '/queue',
        marks.queue_start_ns,
        coalesce(computed.compute_start_ns, models.end_ns)
    FROM models
    INNER JOIN marks USING (span_row)
    LEFT JOIN computed USING (span_row)
    UNION ALL
    SELECT
        computations.span_row,
        4,
        'fe.preprocess',
        computations.model_name || '/input',
        marks.compute_start_ns,
        marks.input_end_ns
    FROM computations
    INNER JOIN marks USING (span_row)
    UNION ALL
    SELECT
        computations.span_row,
        5,
        CASE
            WHEN regexp_matches(computations.model_name, '^pre_?process|tokeni[sz]er')
                THEN 'fe.preprocess'
            WHEN regexp_matches(computations.model_name, '^post_?process') THEN 'out.detok'
            ELSE 'unsplit(eng.decode|eng.prefill)'
        END,
        computations.model_name || '/infer',
        marks.input_end_ns,
        marks.output_start_ns
    FROM computations
    INNER JOIN marks USING (span_row)
    UNION ALL
    SELECT
        computations.span_row,
        6,
        'out.detok',
        computations.model_name || '/output',
        marks.output_start_ns,
        marks.compute_end_ns
    FROM computations
    INNER JOIN marks USING (span_row)
),
judged AS MATERIALIZED (
    SELECT
        told.*,
        known.trace_no,
        told.start_ns > told.end_ns
        OR told.start_ns < known.start_ns - 1000000 - (known.end_ns - known.start_ns) // 100
        OR told.end_ns > known.end_ns + 1000000 + (known.end_ns - known.start_ns) // 100 AS is_conflict
    FROM told
    INNER JOIN known USING (span_row)
    WHERE told.start_ns IS NOT NULL AND told.end_ns IS NOT NULL
),
conflicts AS (
    SELECT trace_no, string_agg(regexp_extract(operation, '[^/]*$'), ',' ORDER BY part, span_row) AS conflicts
    FROM judged
    WHERE is_conflict
    GROUP BY trace_no
),
ends AS (
    SELECT
        requests.span_row,
        any_value(models.attributes['triton.model_name']::VARCHAR) FILTER (
            WHERE models.parent_span_id = requests.span_id
        ) AS model,
        CASE
            WHEN coalesce(any_value(marks.is_complete), FALSE) THEN 'ok'
            WHEN count(computed.span_row) > 0 THEN 'ok'
            WHEN count(queued.queue_start_ns) > 0 THEN 'aborted'
        END AS outcome
    FROM requests
    LEFT JOIN marks USING (span_row)
    LEFT JOIN models ON models.trace_no = requests.trace_no
    LEFT JOIN marks AS queued ON queued.span_row = models.span_row
    LEFT JOIN computed ON computed.span_row = models.span_row
    GROUP BY requests.span_row
)
SELECT
    known.span_row,
    0 AS part,
    'unattributed' AS stage,
    known.name AS operation,
    CASE WHEN known.part_of = 'request' THEN 'engine' END AS vantage,
    ends.model,
    ends.outcome,
    CASE WHEN ends.span_row IS NOT NULL THEN conflicts.conflicts END AS conflicts
FROM known
LEFT JOIN ends USING (span_row)
LEFT JOIN conflicts USING (trace_no)
UNION ALL BY NAME
SELECT
    * EXCLUDE (trace_no, is_conflict),
    'event' AS source,
    CASE WHEN stage LIKE 'unsplit(%' THEN 'unsplit' ELSE 'derived' END AS quality
FROM judged
WHERE start_ns < end_ns AND NOT is_conflict
