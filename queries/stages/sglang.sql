-- Operations of SGLang: a root for each request (` Req 1a2b3c4d`; `prefill Req ...` and
-- `decode Req ...` where the two phases run in different processes), below it a span for each
-- thread (tokenizer, scheduler of each rank), below these the slices that tell the stages.
--
-- Roots and threads last as long as the request, so their own time is that of the slices: each of
-- them has the slices of its request as parts. Of the ranks that compute one request together the
-- one that ends last counts. Inside `decode_forward` an event `retract` is a preemption: until the
-- next prefill slice the request waits, and prefill after it is a repetition. After the last
-- decode slice the tokens are still on their way through the detokeniser and the API server.
--
-- The decode side of a split engine waits in `decode_transferred` for all that the prefill side
-- does; where the prefill side sends spans its slices say what that is, else it stays unsplit.
-- A caller that waits for both sides spends the time before them on the way to the engine, the
-- time after them on the stream back.
--
-- Without slices (a low trace level) the attributes of the root are used; its
-- `time_in_model_prefill` holds the queue too. The first token is that of the API server; where
-- its value cannot be, it is a conflict, and the start of `decode_forward` stands for it.
--
-- Spans may be lost. Slices whose thread is not there are those of the root, where their trace has one; threads whose
-- root is not there keep their slices' stages, and nobody knows how the request ended.
--
-- Reads batch_spans, base.span_events.
-- Columns:
--   span_row: the span.
--   part: 0, the span itself; 1, an operation inside it.
--   stage: stage code.
--   operation: name of the span, of a part that of the slice or the caller with its own name after
--     a slash.
--   start_ns, end_ns: interval of a part, nanoseconds since the epoch; NULL is the edge of the
--     span.
--   placed_by: span whose clock start_ns and end_ns come from.
--   source, quality: what a part rests on.
--   vantage: engine.
--   first_token_ns, last_token_ns: nanoseconds since the epoch.
--   input_tokens, output_tokens: counts.
--   model: name of the model.
--   outcome: by finish reason, else by what a thread says of an abort.
--   request_id: id of the request.
--   conflicts: names of the values that were not used, comma-separated.
WITH
roots AS MATERIALIZED (
    SELECT
        *,
        regexp_extract(name, '^\s*(prefill|decode)?', 1) AS role,
        attributes['bootstrap_room']::VARCHAR AS room
    FROM batch_spans
    WHERE coalesce(attributes['module']::VARCHAR = 'sglang::request', FALSE)
        OR contains(name, 'Req ')
        AND regexp_matches(name, '^\s*(prefill |decode )?Req [0-9a-f]{1,8}$')
),
under AS (
    SELECT roots.span_row AS root_row, thread.*
    FROM roots
    INNER JOIN batch_spans AS thread
        ON thread.trace_no = roots.trace_no AND thread.parent_span_id = roots.span_id
    UNION ALL
    SELECT NULL AS root_row, thread.*
    FROM batch_spans AS thread
    ANTI JOIN roots ON roots.trace_no = thread.trace_no AND roots.span_id = thread.parent_span_id
    WHERE thread.attributes['thread_label'] IS NOT NULL
),
threads AS MATERIALIZED (
    SELECT
        thread.root_row,
        thread.span_row,
        thread.trace_no,
        thread.span_id,
        thread.name,
        thread.status_code,
        thread.attributes['type']::VARCHAR AS end_type,
        TRY_CAST(thread.attributes['status_code'] AS BIGINT) AS http_status,
        row_number() OVER (
            PARTITION BY
                thread.trace_no,
                thread.root_row,
                coalesce(
                    thread.attributes['thread_label']::VARCHAR,
                    regexp_extract(thread.name, '^(.*?) [\[(]', 1)
                ),
                thread.attributes['dp_rank']::VARCHAR
            ORDER BY thread.end_ns DESC, thread.span_id
        ) = 1 AS counts,
        thread.root_row IS NULL AND row_number() OVER (
            PARTITION BY thread.trace_no, thread.root_row ORDER BY thread.start_ns, thread.span_id
        ) = 1 AS stands_for_root
    FROM under AS thread
),
lonely_roots AS (
    SELECT trace_no, any_value(span_row) AS root_row
    FROM roots
    GROUP BY trace_no
    HAVING count(*) = 1
),
slices AS MATERIALIZED (
    SELECT
        threads.root_row,
        threads.span_row AS thread_row,
        threads.counts,
        slice.span_row,
        slice.trace_no,
        slice.trace_id,
        slice.span_id,
        slice.name,
        slice.start_ns,
        slice.end_ns
    FROM threads
    INNER JOIN batch_spans AS slice
        ON slice.trace_no = threads.trace_no AND slice.parent_span_id = threads.span_id
    UNION ALL
    SELECT
        lonely_roots.root_row,
        lonely_roots.root_row,
        TRUE,
        slice.span_row,
        slice.trace_no,
        slice.trace_id,
        slice.span_id,
        slice.name,
        slice.start_ns,
        slice.end_ns
    FROM lonely_roots
    INNER JOIN batch_spans AS slice USING (trace_no)
    ANTI JOIN batch_spans AS parent
        ON parent.trace_no = slice.trace_no AND parent.span_id = slice.parent_span_id
    WHERE slice.parent_span_id IS NOT NULL AND slice.name IN (
        'tokenize', 'api_server_dispatch', 'dpc_dispatch', 'request_process', 'prefill_waiting', 'prefill_forward',
        'chunked_prefill', 'decode_waiting', 'decode_forward', 'mm_encode', 'prefill_prepare', 'prefill_bootstrap',
        'prefill_transfer_kv_cache', 'decode_prepare', 'decode_bootstrap', 'decode_transferred'
    )
),
retractions AS MATERIALIZED (
    SELECT slices.thread_row, span_events.time_ns
    FROM slices
    INNER JOIN base.span_events USING (trace_id, span_id)
    WHERE span_events.name = 'retract'
),
first_retractions AS (
    SELECT thread_row, min(time_ns) AS time_ns
    FROM retractions
    GROUP BY thread_row
),
-- A prefill side of the same request: below the same caller, or in the same bootstrap room.
partners AS MATERIALIZED (
    SELECT decoding.span_row AS root_row, prefilling.span_row AS partner_row
    FROM roots AS decoding
    INNER JOIN roots AS prefilling
        ON prefilling.trace_no = decoding.trace_no
        AND (
            prefilling.parent_span_id IS NOT DISTINCT FROM decoding.parent_span_id
            OR prefilling.room = decoding.room
        )
    WHERE decoding.role = 'decode' AND prefilling.role = 'prefill'
),
staged AS MATERIALIZED (
    SELECT
        slices.*,
        CASE
            WHEN slices.name = 'tokenize' THEN 'fe.preprocess'
            WHEN slices.name = 'mm_encode' THEN 'eng.encode'
            WHEN slices.name IN ('api_server_dispatch', 'dpc_dispatch', 'request_process')
                THEN 'fe.dispatch'
            WHEN slices.name = 'prefill_waiting' THEN 'eng.queue'
            WHEN slices.name = 'decode_waiting' THEN 'eng.decode_wait'
            WHEN slices.name NOT IN ('prefill_forward', 'chunked_prefill') THEN NULL
            WHEN slices.start_ns >= first_retractions.time_ns THEN 'eng.recompute'
            ELSE 'eng.prefill'
        END AS plain_stage,
        CASE
            WHEN plain_stage IS NOT NULL THEN plain_stage
            WHEN slices.name IN (
                'prefill_prepare', 'prefill_bootstrap', 'decode_prepare', 'decode_bootstrap'
            ) THEN 'kv.bootstrap'
            WHEN slices.name = 'prefill_transfer_kv_cache' OR starts_with(slices.name, 'mooncake_')
                THEN 'kv.transfer'
            WHEN slices.name = 'decode_transferred' AND partners.root_row IS NOT NULL
                THEN 'kv.transfer'
            WHEN slices.name = 'decode_transferred'
                THEN 'unsplit(eng.prefill|eng.queue|kv.transfer)'
            WHEN slices.name IN ('decode_forward', 'decode_loop', 'spec_draft', 'spec_verify')
                THEN 'eng.decode'
            ELSE 'unattributed'
        END AS stage
    FROM slices
    LEFT JOIN first_retractions USING (thread_row)
    LEFT JOIN (SELECT DISTINCT root_row FROM partners) AS partners USING (root_row)
),
decoding AS MATERIALIZED (
    SELECT * FROM staged WHERE name = 'decode_forward' AND counts
),
-- What interrupts decoding: the wait after a preemption, and the prefill that follows it.
interruptions AS MATERIALIZED (
    SELECT
        decoding.root_row,
        decoding.span_row,
        'eng.preempt_wait' AS stage,
        decoding.name || '/preempted' AS operation,
        retractions.time_ns AS start_ns,
        least(min(resumed.start_ns), any_value(decoding.end_ns)) AS end_ns,
        decoding.span_row AS placed_by,
        'event' AS source
    FROM decoding
    INNER JOIN retractions
        ON retractions.thread_row = decoding.thread_row
        AND retractions.time_ns BETWEEN decoding.start_ns AND decoding.end_ns
    LEFT JOIN staged AS resumed
        ON resumed.thread_row = decoding.thread_row
        AND resumed.stage = 'eng.recompute'
        AND resumed.start_ns >= retractions.time_ns
    GROUP BY decoding.root_row, decoding.span_row, decoding.name, retractions.time_ns
    UNION ALL
    SELECT
        decoding.root_row,
        decoding.span_row,
        again.stage,
        again.name,
        again.start_ns,
        again.end_ns,
        again.span_row,
        'span'
    FROM decoding
    INNER JOIN staged AS again
        ON again.thread_row = decoding.thread_row
        AND again.stage = 'eng.recompute'
        AND again.start_ns BETWEEN decoding.start_ns AND decoding.end_ns
),
ordered AS (
    SELECT
        span_row,
        start_ns,
        max(end_ns) OVER (
            PARTITION BY span_row
            ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS resumed_ns
    FROM interruptions
),
decode_pieces AS (
    SELECT
        decoding.root_row,
        decoding.name,
        decoding.span_row,
        coalesce(ordered.resumed_ns, decoding.start_ns) AS start_ns,
        ordered.start_ns AS end_ns
    FROM decoding
    INNER JOIN ordered USING (span_row)
    UNION ALL
    SELECT
        decoding.root_row,
        decoding.name,
        decoding.span_row,
        greatest(max(interruptions.end_ns), any_value(decoding.start_ns)),
        any_value(decoding.end_ns)
    FROM decoding
    LEFT JOIN interruptions USING (span_row)
    GROUP BY decoding.root_row, decoding.name, decoding.span_row
),
-- The time of a request as its slices tell it; what overlaps goes to what starts first.
told_by_slices AS (
    SELECT
        root_row,
        stage,
        name AS operation,
        start_ns,
        end_ns,
        span_row AS placed_by,
        'span' AS source
    FROM staged
    WHERE counts AND stage NOT IN ('eng.decode', 'eng.recompute', 'unattributed')
        AND NOT (name = 'decode_transferred' AND stage = 'kv.transfer')
    UNION ALL
    SELECT root_row, 'eng.decode', name, start_ns, end_ns, span_row, 'span'
    FROM decode_pieces
    UNION ALL
    SELECT root_row, stage, operation, start_ns, end_ns, placed_by, source
    FROM interruptions
    UNION ALL
    SELECT
        root_row,
        'unsplit(out.detok|out.stream)',
        name || '/output',
        max(end_ns),
        NULL,
        arg_max(span_row, end_ns),
        'gap'
    FROM decoding
    GROUP BY root_row, name
),
told_by_partners AS (
    SELECT
        partners.root_row,
        staged.stage,
        staged.name AS operation,
        staged.start_ns,
        staged.end_ns,
        staged.span_row AS placed_by,
        'span' AS source
    FROM partners
    INNER JOIN staged ON staged.root_row = partners.partner_row
    WHERE staged.counts AND staged.stage NOT IN ('eng.decode', 'unattributed')
),
told AS (
    SELECT * FROM told_by_slices
    UNION ALL
    SELECT * FROM told_by_partners
),
holders AS (
    SELECT span_row AS root_row, span_row FROM roots
    UNION ALL
    SELECT root_row, span_row FROM threads
),
measured AS (
    SELECT
        *,
        end_ns - start_ns AS span_ns,
        said_number(attributes['gen_ai.latency.time_to_first_token']) AS ttft_s,
        said_number(attributes['gen_ai.latency.e2e']) AS e2e_s,
        said_number(attributes['gen_ai.latency.time_in_model_prefill']) AS prefill_s,
        said_number(attributes['gen_ai.latency.time_in_model_decode']) AS decode_s,
        lower(attributes['gen_ai.response.finish_reasons']::VARCHAR) AS finish_reasons,
        -- Beyond 30 years a value is no duration, and its nanoseconds would not fit.
        CASE WHEN abs(ttft_s) < 1e9 THEN round(ttft_s * 1e9)::BIGINT ELSE -1 END AS ttft_said_ns,
        CASE WHEN abs(e2e_s) < 1e9 THEN round(e2e_s * 1e9)::BIGINT ELSE -1 END AS e2e_said_ns,
        CASE
            WHEN abs(prefill_s) < 1e9 THEN round(prefill_s * 1e9)::BIGINT ELSE -1
        END AS prefill_said_ns,
        CASE
            WHEN abs(decode_s) < 1e9 THEN round(decode_s * 1e9)::BIGINT ELSE -1
        END AS decode_said_ns
    FROM roots
),
fitting AS (
    SELECT
        *,
        CASE
            WHEN e2e_said_ns BETWEEN 0 AND span_ns + 1000000 + span_ns // 100
                THEN least(e2e_said_ns, span_ns)
        END AS e2e_ns,
        CASE
            WHEN ttft_said_ns BETWEEN 0 AND span_ns + 1000000 + span_ns // 100
                THEN least(ttft_said_ns, coalesce(e2e_ns, span_ns))
        END AS ttft_ns,
        -- Used only without slices, which tell more.
        prefill_said_ns BETWEEN 0 AND ttft_ns + 1000000 + ttft_ns // 100 AS prefill_fits,
        decode_said_ns BETWEEN 0 AND span_ns - ttft_ns + 1000000 + span_ns // 100 AS decode_fits
    FROM measured
),
without_slices AS (
    SELECT *
    FROM fitting
    ANTI JOIN staged ON staged.root_row = fitting.span_row
    WHERE ttft_ns IS NOT NULL
),
bad_ends AS (
    SELECT
        root_row,
        CASE
            WHEN bool_or(http_status IN (429, 503)) THEN 'rejected'
            WHEN bool_or(http_status >= 500) THEN 'failed'
            WHEN bool_or(http_status BETWEEN 400 AND 498) THEN 'invalid'
            WHEN bool_or(end_type = 'abort') THEN 'aborted'
            ELSE 'failed'
        END AS outcome
    FROM threads
    WHERE status_code = 2 AND root_row IS NOT NULL
    GROUP BY root_row
),
facts AS (
    SELECT
        fitting.*,
        decoding.start_ns AS decode_start_ns,
        coalesce(fitting.start_ns + fitting.ttft_ns, decoding.start_ns) AS first_token_ns,
        fitting.start_ns + fitting.e2e_ns AS last_token_ns,
        CASE
            WHEN regexp_matches(fitting.finish_reasons, 'abort|cancel') THEN 'aborted'
            WHEN regexp_matches(fitting.finish_reasons, 'error') THEN 'failed'
            WHEN fitting.finish_reasons IS NOT NULL THEN 'ok'
            ELSE bad_ends.outcome
        END AS outcome,
        nullif(
            concat_ws(
                ',',
                CASE WHEN ttft_s IS NOT NULL AND ttft_ns IS NULL THEN 'ttft' END,
                CASE WHEN e2e_s IS NOT NULL AND e2e_ns IS NULL THEN 'e2e' END,
                CASE WHEN prefill_s IS NOT NULL AND NOT prefill_fits THEN 'prefill' END,
                CASE WHEN decode_s IS NOT NULL AND NOT decode_fits THEN 'decode' END
            ),
            ''
        ) AS conflicts
    FROM fitting
    LEFT JOIN bad_ends ON bad_ends.root_row = fitting.span_row
    LEFT JOIN (
        SELECT root_row, min(start_ns) AS start_ns FROM decoding GROUP BY root_row
    ) AS decoding ON decoding.root_row = fitting.span_row
    -- What the prefill side counts, the decode side counts again.
    ANTI JOIN partners ON partners.partner_row = fitting.span_row
),
callers AS (
    SELECT
        caller.span_row,
        caller.name,
        caller.service_name,
        min(roots.start_ns) AS start_ns,
        arg_min(roots.span_row, roots.start_ns) AS first_row,
        arg_min(roots.service_name, roots.start_ns) AS callee_service,
        max(roots.end_ns) AS end_ns,
        arg_max(roots.span_row, roots.end_ns) AS last_row
    FROM roots
    INNER JOIN batch_spans AS caller
        ON caller.trace_no = roots.trace_no AND caller.span_id = roots.parent_span_id
    WHERE roots.role != '' AND caller.kind = 3
    GROUP BY ALL
    HAVING count(DISTINCT roots.role) = 2
),
mapped AS (
    SELECT span_row, 'unattributed' AS stage, name AS operation FROM threads
    UNION ALL
    SELECT span_row, stage, name FROM staged
    UNION ALL
    SELECT
        inner_span.span_row,
        CASE WHEN staged.stage = 'eng.decode' THEN 'eng.decode' ELSE 'unattributed' END,
        inner_span.name
    FROM staged
    INNER JOIN batch_spans AS inner_span
        ON inner_span.trace_no = staged.trace_no AND inner_span.parent_span_id = staged.span_id
),
parts AS (
    SELECT holders.span_row, told.* EXCLUDE (root_row)
    FROM holders
    INNER JOIN told USING (root_row)
    UNION ALL
    SELECT span_row, stage, operation, start_ns, end_ns, placed_by, source
    FROM interruptions
    UNION ALL
    SELECT staged.span_row, told_by_partners.* EXCLUDE (root_row)
    FROM staged
    INNER JOIN told_by_partners USING (root_row)
    WHERE staged.name = 'decode_transferred'
    UNION ALL
    SELECT
        span_row,
        'unsplit(eng.prefill|eng.queue)',
        name || '/prefill',
        greatest(start_ns + ttft_ns - prefill_said_ns, start_ns),
        start_ns + ttft_ns,
        span_row,
        'attribute'
    FROM without_slices
    WHERE prefill_fits
    UNION ALL
    SELECT
        span_row,
        'eng.decode',
        name || '/decode',
        start_ns + ttft_ns,
        start_ns + ttft_ns + decode_said_ns,
        span_row,
        'attribute'
    FROM without_slices
    WHERE decode_fits
    UNION ALL
    SELECT
        span_row,
        'net.dispatch',
        'edge:' || service_name || '->' || callee_service,
        NULL,
        start_ns,
        first_row,
        'gap'
    FROM callers
    UNION ALL
    SELECT span_row, 'out.stream', name || '/stream', end_ns, NULL, last_row, 'gap'
    FROM callers
)
SELECT
    roots.span_row,
    0 AS part,
    'unattributed' AS stage,
    roots.name AS operation,
    CASE WHEN facts.span_row IS NOT NULL THEN 'engine' END AS vantage,
    facts.first_token_ns,
    CASE WHEN facts.first_token_ns IS NOT NULL THEN facts.last_token_ns END AS last_token_ns,
    said_count(roots.attributes['gen_ai.usage.prompt_tokens']) AS input_tokens,
    said_count(roots.attributes['gen_ai.usage.completion_tokens']) AS output_tokens,
    roots.attributes['gen_ai.response.model']::VARCHAR AS model,
    facts.outcome,
    coalesce(
        roots.attributes['gen_ai.request.id']::VARCHAR, roots.attributes['rid']::VARCHAR
    ) AS request_id,
    facts.conflicts
FROM roots
LEFT JOIN facts USING (span_row)
UNION ALL BY NAME
SELECT mapped.*, 0 AS part, CASE WHEN threads.stands_for_root THEN 'engine' END AS vantage
FROM mapped
LEFT JOIN threads USING (span_row)
UNION ALL BY NAME
SELECT
    *,
    1 AS part,
    CASE
        WHEN stage LIKE 'unsplit(%' THEN 'unsplit'
        WHEN source = 'span' THEN 'observed'
        ELSE 'derived'
    END AS quality
FROM parts
WHERE start_ns IS NULL OR end_ns IS NULL OR start_ns < end_ns
