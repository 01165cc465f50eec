-- Counters and gauges of serving engines, gateways and accelerators under one set of names, and what can be computed
-- from them without knowing who sent them: values, increases and buckets of intervals.
--
-- A cumulative series says how much there was since its start; its increase is the difference of two points. A later
-- start, or a smaller value, is a restart of the sender: what it counted since then is the increase. A first point
-- counts since its start where it has one that lies before it (OpenTelemetry, metrics data model, "Resets and gaps").

CREATE OR REPLACE MACRO metric_key(name) AS
    regexp_replace(regexp_replace(lower(name), '[:.]', '_', 'g'), '_total$', '');
COMMENT ON MACRO metric_key
    IS 'A metric''s name as Prometheus and OpenTelemetry both could spell it: lower case, underscores, no _total.';

CREATE OR REPLACE VIEW metric_names AS
SELECT * FROM (VALUES
    ('vllm_num_requests_waiting', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('sglang_num_queue_reqs', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('lmdeploy_num_requests_waiting', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('tgi_queue_size', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('nv_inference_pending_request_count', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('dynamo_work_handler_queue_depth', 'requests.waiting', '{request}', 1.0, 'eng.queue'),
    ('serve_deployment_queued_queries', 'requests.waiting', '{request}', 1.0, 'gw.queue'),
    ('ray_serve_deployment_queued_queries', 'requests.waiting', '{request}', 1.0, 'gw.queue'),
    ('dynamo_frontend_queued_requests', 'requests.before_first_token', '{request}', 1.0, 'eng.queue'),
    ('vllm_num_requests_running', 'requests.running', '{request}', 1.0, 'eng.decode'),
    ('sglang_num_running_reqs', 'requests.running', '{request}', 1.0, 'eng.decode'),
    ('lmdeploy_num_requests_running', 'requests.running', '{request}', 1.0, 'eng.decode'),
    ('tgi_batch_current_size', 'requests.running', '{request}', 1.0, 'eng.decode'),
    ('dynamo_frontend_inflight_requests', 'requests.in_flight', '{request}', 1.0, NULL),
    ('vllm_kv_cache_usage_perc', 'kv_cache.usage', '1', 1.0, 'eng.queue'),
    ('vllm_gpu_cache_usage_perc', 'kv_cache.usage', '1', 1.0, 'eng.queue'),
    ('sglang_token_usage', 'kv_cache.usage', '1', 1.0, 'eng.queue'),
    ('lmdeploy_gpu_cache_usage_perc', 'kv_cache.usage', '1', 1.0, 'eng.queue'),
    ('vllm_num_preemptions', 'requests.preempted', '{preemption}', 1.0, 'eng.preempt_wait'),
    ('sglang_num_retracted_requests', 'requests.preempted', '{preemption}', 1.0, 'eng.preempt_wait'),
    ('vllm_admission_rejections', 'requests.rejected', '{request}', 1.0, NULL),
    ('dynamo_frontend_model_rejection', 'requests.rejected', '{request}', 1.0, NULL),
    ('dynamo_work_handler_enqueue_rejected', 'requests.rejected', '{request}', 1.0, NULL),
    ('vllm_request_success', 'requests.finished', '{request}', 1.0, NULL),
    ('dynamo_frontend_requests', 'requests.finished', '{request}', 1.0, NULL),
    ('nv_inference_request_success', 'requests.finished', '{request}', 1.0, NULL),
    ('sglang_num_aborted_requests', 'requests.aborted', '{request}', 1.0, NULL),
    ('dynamo_frontend_disconnected_clients', 'requests.aborted', '{request}', 1.0, NULL),
    ('dynamo_frontend_failures', 'requests.failed', '{request}', 1.0, NULL),
    ('nv_inference_request_failure', 'requests.failed', '{request}', 1.0, NULL),
    ('tgi_request_failure', 'requests.failed', '{request}', 1.0, NULL),
    ('vllm_prompt_tokens', 'tokens.prompt', '{token}', 1.0, 'eng.prefill'),
    ('sglang_prompt_tokens', 'tokens.prompt', '{token}', 1.0, 'eng.prefill'),
    ('vllm_generation_tokens', 'tokens.generated', '{token}', 1.0, 'eng.decode'),
    ('sglang_generation_tokens', 'tokens.generated', '{token}', 1.0, 'eng.decode'),
    ('vllm_prefix_cache_queries', 'prefix_cache.queried', '{token}', 1.0, 'eng.prefill'),
    ('vllm_prefix_cache_hits', 'prefix_cache.hit', '{token}', 1.0, 'eng.prefill'),
    ('sglang_cache_hit_rate', 'prefix_cache.hit_rate', '1', 1.0, 'eng.prefill'),
    ('vllm_spec_decode_num_draft_tokens', 'speculation.drafted', '{token}', 1.0, 'eng.decode'),
    ('vllm_spec_decode_num_accepted_tokens', 'speculation.accepted', '{token}', 1.0, 'eng.decode'),
    ('vllm_time_to_first_token_seconds', 'engine.ttft', 's', 1.0, NULL),
    ('sglang_time_to_first_token_seconds', 'engine.ttft', 's', 1.0, NULL),
    ('gen_ai_server_time_to_first_token', 'server.ttft', 's', 1.0, NULL),
    ('gen_ai_server_time_to_first_token_seconds', 'server.ttft', 's', 1.0, NULL),
    ('dynamo_frontend_time_to_first_token_seconds', 'server.ttft', 's', 1.0, NULL),
    ('vllm_inter_token_latency_seconds', 'engine.inter_token', 's', 1.0, 'eng.decode'),
    ('vllm_time_per_output_token_seconds', 'engine.inter_token', 's', 1.0, 'eng.decode'),
    ('sglang_inter_token_latency_seconds', 'engine.inter_token', 's', 1.0, 'eng.decode'),
    ('dynamo_frontend_inter_token_latency_seconds', 'server.inter_token', 's', 1.0, 'eng.decode'),
    ('vllm_request_time_per_output_token_seconds', 'engine.tpot', 's', 1.0, 'eng.decode'),
    ('gen_ai_server_time_per_output_token', 'server.tpot', 's', 1.0, 'eng.decode'),
    ('gen_ai_server_time_per_output_token_seconds', 'server.tpot', 's', 1.0, 'eng.decode'),
    ('vllm_e2e_request_latency_seconds', 'engine.e2e', 's', 1.0, NULL),
    ('sglang_e2e_request_latency_seconds', 'engine.e2e', 's', 1.0, NULL),
    ('tgi_request_duration', 'engine.e2e', 's', 1.0, NULL),
    ('gen_ai_server_request_duration', 'server.e2e', 's', 1.0, NULL),
    ('gen_ai_server_request_duration_seconds', 'server.e2e', 's', 1.0, NULL),
    ('dynamo_frontend_request_duration_seconds', 'server.e2e', 's', 1.0, NULL),
    ('serve_http_request_latency_ms', 'server.e2e', 's', 0.001, NULL),
    ('ray_serve_http_request_latency_ms', 'server.e2e', 's', 0.001, NULL),
    ('vllm_request_queue_time_seconds', 'engine.queue_time', 's', 1.0, 'eng.queue'),
    ('sglang_queue_time_seconds', 'engine.queue_time', 's', 1.0, 'eng.queue'),
    ('tgi_request_queue_duration', 'engine.queue_time', 's', 1.0, 'eng.queue'),
    ('vllm_request_prefill_time_seconds', 'engine.prefill_time', 's', 1.0, 'eng.prefill'),
    ('vllm_request_decode_time_seconds', 'engine.decode_time', 's', 1.0, 'eng.decode'),
    ('vllm_nixl_xfer_time_seconds', 'kv_transfer.time', 's', 1.0, 'kv.transfer'),
    ('sglang_kv_transfer_latency_ms', 'kv_transfer.time', 's', 0.001, 'kv.transfer'),
    ('trtllm_kv_transfer_latency_seconds', 'kv_transfer.time', 's', 1.0, 'kv.transfer'),
    ('vllm_nixl_bytes_transferred', 'kv_transfer.size', 'By', 1.0, 'kv.transfer'),
    ('sglang_kv_transfer_total_mb', 'kv_transfer.size', 'By', 1000000.0, 'kv.transfer'),
    ('trtllm_kv_transfer_bytes', 'kv_transfer.size', 'By', 1.0, 'kv.transfer'),
    ('hw_gpu_utilization', 'accelerator.utilization', '1', 1.0, NULL),
    ('nv_gpu_utilization', 'accelerator.utilization', '1', 1.0, NULL),
    ('dcgm_fi_dev_gpu_util', 'accelerator.utilization', '1', 0.01, NULL),
    ('dcgm_fi_prof_sm_active', 'accelerator.sm_active', '1', 1.0, NULL),
    ('dcgm_fi_prof_pipe_tensor_active', 'accelerator.tensor_active', '1', 1.0, NULL),
    ('dcgm_fi_prof_dram_active', 'accelerator.memory_active', '1', 1.0, NULL),
    ('hw_gpu_memory_usage', 'accelerator.memory_used', 'By', 1.0, NULL),
    ('nv_gpu_memory_used_bytes', 'accelerator.memory_used', 'By', 1.0, NULL),
    ('dcgm_fi_dev_fb_used', 'accelerator.memory_used', 'By', 1048576.0, NULL),
    ('hw_power', 'accelerator.power', 'W', 1.0, NULL),
    ('nv_gpu_power_usage', 'accelerator.power', 'W', 1.0, NULL),
    ('dcgm_fi_dev_power_usage', 'accelerator.power', 'W', 1.0, NULL),
    ('hw_temperature', 'accelerator.temperature', 'Cel', 1.0, NULL),
    ('dcgm_fi_dev_gpu_temp', 'accelerator.temperature', 'Cel', 1.0, NULL),
    ('dcgm_fi_dev_sm_clock', 'accelerator.clock', 'Hz', 1000000.0, NULL),
    ('dcgm_fi_dev_xid_errors', 'accelerator.xid', '1', 1.0, NULL),
    ('dcgm_fi_dev_ecc_dbe_vol_total', 'accelerator.ecc_double_bit', '{error}', 1.0, NULL),
    ('dcgm_fi_dev_ecc_dbe_vol', 'accelerator.ecc_double_bit', '{error}', 1.0, NULL)
) AS known (sender_key, metric, unit, factor, stage);

CREATE OR REPLACE VIEW metric_series AS
SELECT
    metric_streams.stream_id,
    coalesce(metric_names.metric, metric_streams.name) AS metric,
    metric_names.metric IS NOT NULL AS is_known,
    metric_streams.name AS sender_name,
    coalesce(metric_names.unit, metric_streams.unit) AS unit,
    coalesce(metric_names.factor, 1.0) AS factor,
    metric_names.stage,
    metric_streams.kind,
    CASE metric_streams.temporality
        WHEN 0 THEN 'UNSPECIFIED' WHEN 1 THEN 'DELTA' WHEN 2 THEN 'CUMULATIVE'
    END AS temporality,
    metric_streams.is_monotonic,
    resources.service_name,
    coalesce(resources.host_name, resources.service_instance_id) AS host_name,
    coalesce(metric_streams.attributes['model_name']::VARCHAR, metric_streams.attributes['model']::VARCHAR,
        metric_streams.attributes['gen_ai.request.model']::VARCHAR) AS model,
    metric_streams.attributes
FROM base.metric_streams
LEFT JOIN base.resources USING (resource_id)
LEFT JOIN metric_names ON metric_names.sender_key = metric_key(metric_streams.name);

CREATE OR REPLACE VIEW metric_values AS
SELECT
    metric_points.stream_id,
    metric_points.time_ns,
    metric_series.factor * coalesce(metric_points.value_int, metric_points.value_double) AS "value"
FROM base.metric_points
INNER JOIN metric_series USING (stream_id)
WHERE (metric_series.kind = 'gauge' OR NOT metric_series.is_monotonic) AND metric_points.flags & 1 = 0;

CREATE OR REPLACE VIEW metric_increases AS
WITH
points AS (
    SELECT
        metric_points.stream_id,
        metric_points.start_ns,
        metric_points.time_ns,
        metric_points.value_int,
        coalesce(metric_points.value_int, metric_points.value_double) AS "value",
        metric_series.temporality = 'DELTA' AS is_delta,
        metric_series.factor
    FROM base.metric_points
    INNER JOIN metric_series USING (stream_id)
    WHERE
        metric_series.kind = 'sum' AND metric_series.is_monotonic AND metric_series.temporality != 'UNSPECIFIED'
        AND metric_points.flags & 1 = 0
),
pairs AS (
    SELECT
        *,
        lag(time_ns) OVER in_order AS previous_ns,
        lag(start_ns) OVER in_order AS previous_start_ns,
        lag("value") OVER in_order AS previous_value,
        lag(value_int) OVER in_order AS previous_int
    FROM points
    WINDOW in_order AS (PARTITION BY stream_id ORDER BY time_ns, start_ns, "value")
),
judged AS (
    SELECT
        *,
        NOT is_delta AND previous_ns IS NOT NULL
        AND ("value" < previous_value OR coalesce(start_ns > previous_start_ns, false)) AS is_reset
    FROM pairs
)
SELECT
    stream_id,
    CASE
        WHEN is_delta OR previous_ns IS NULL THEN start_ns
        WHEN is_reset THEN greatest(previous_ns, start_ns)
        ELSE previous_ns
    END AS start_ns,
    time_ns AS end_ns,
    factor * CASE
        WHEN is_delta OR previous_ns IS NULL OR is_reset THEN "value"
        ELSE coalesce((value_int::HUGEINT - previous_int)::DOUBLE, "value" - previous_value)
    END AS increase,
    is_reset
FROM judged
-- What a first point counts is only known where it says since when.
WHERE is_delta OR previous_ns IS NOT NULL OR start_ns < time_ns;

CREATE OR REPLACE VIEW histogram_increases AS
WITH
points AS (
    SELECT
        histograms.*,
        metric_series.temporality = 'DELTA' AS is_delta,
        metric_series.factor,
        lag(histograms.time_ns) OVER in_order AS previous_ns,
        lag(histograms.start_ns) OVER in_order AS previous_start_ns,
        lag(histograms.count) OVER in_order AS previous_count,
        lag(histograms.sum) OVER in_order AS previous_sum,
        lag(histograms) OVER in_order AS previous
    FROM base.metric_histograms AS histograms
    INNER JOIN metric_series USING (stream_id)
    WHERE metric_series.temporality != 'UNSPECIFIED' AND histograms.flags & 1 = 0
    WINDOW in_order AS (PARTITION BY histograms.stream_id ORDER BY histograms.time_ns, histograms.start_ns, histograms.count)
),
judged AS (
    SELECT
        *,
        NOT is_delta AND previous_ns IS NOT NULL
        AND (count < previous_count OR coalesce(start_ns > previous_start_ns, false)) AS is_reset
    FROM points
),
taken AS (
    SELECT
        *,
        NOT is_delta AND previous_ns IS NOT NULL AND NOT is_reset AS is_difference
    FROM judged
    WHERE is_delta OR previous_ns IS NOT NULL OR start_ns < time_ns
)
SELECT
    stream_id,
    CASE
        WHEN is_difference THEN previous_ns
        WHEN is_reset THEN greatest(previous_ns, start_ns)
        ELSE start_ns
    END AS start_ns,
    time_ns AS end_ns,
    (count::HUGEINT - if(is_difference, previous_count, 0)) AS count,
    factor * (sum - if(is_difference, previous_sum, 0)) AS sum,
    factor * min AS least,
    factor * max AS largest,
    is_reset,
    NOT is_difference OR (explicit_bounds IS NOT DISTINCT FROM previous.explicit_bounds
        AND (scale IS NULL) = (previous.scale IS NULL)) AS has_buckets,
    factor,
    struct_pack(
        explicit_bounds := explicit_bounds, bucket_counts := bucket_counts, scale := scale, zero_count := zero_count,
        zero_threshold := zero_threshold, positive_offset := positive_offset, positive_counts := positive_counts,
        negative_offset := negative_offset, negative_counts := negative_counts
    ) AS buckets,
    if(is_difference, struct_pack(
        explicit_bounds := previous.explicit_bounds, bucket_counts := previous.bucket_counts, scale := previous.scale,
        zero_count := previous.zero_count, zero_threshold := previous.zero_threshold,
        positive_offset := previous.positive_offset, positive_counts := previous.positive_counts,
        negative_offset := previous.negative_offset, negative_counts := previous.negative_counts
    ), NULL) AS buckets_before
FROM taken;

CREATE OR REPLACE VIEW histogram_buckets AS
WITH
known AS (
    SELECT *, least(buckets.scale, coalesce(buckets_before.scale, buckets.scale))::BIGINT AS common_scale
    FROM histogram_increases
    WHERE has_buckets
),
explicit AS (
    SELECT
        stream_id, start_ns, end_ns, least, largest, factor,
        buckets.explicit_bounds[number - 1] AS low,
        buckets.explicit_bounds[number] AS high,
        buckets.bucket_counts[number]::HUGEINT - coalesce(buckets_before.bucket_counts[number], 0) AS count
    FROM (
        SELECT *, unnest(range(1, len(buckets.bucket_counts) + 1)) AS number
        FROM known
        WHERE buckets.scale IS NULL
    ) AS numbered
),
-- Bucket i of scale s covers (base^i, base^(i + 1)] with base = 2^(2^-s); scale s - d joins 2^d of them into one.
sides AS (
    SELECT *, buckets AS side, 1 AS sign FROM known WHERE buckets.scale IS NOT NULL
    UNION ALL
    SELECT *, buckets_before AS side, -1 AS sign FROM known WHERE buckets_before.scale IS NOT NULL
),
exponential_rows AS (
    SELECT
        stream_id, start_ns, end_ns, least, largest, factor, common_scale, 1 AS half,
        floor((side.positive_offset::BIGINT + unnest(range(len(side.positive_counts))))
            / pow(2.0, side.scale - common_scale)) AS number,
        sign * unnest(side.positive_counts)::HUGEINT AS count
    FROM sides
    UNION ALL
    SELECT
        stream_id, start_ns, end_ns, least, largest, factor, common_scale, -1 AS half,
        floor((side.negative_offset::BIGINT + unnest(range(len(side.negative_counts))))
            / pow(2.0, side.scale - common_scale)) AS number,
        sign * unnest(side.negative_counts)::HUGEINT AS count
    FROM sides
    UNION ALL
    SELECT
        stream_id, start_ns, end_ns, least, largest, factor, common_scale, 0 AS half,
        max(side.zero_threshold) OVER (PARTITION BY stream_id, start_ns, end_ns) AS number,
        sign * side.zero_count::HUGEINT AS count
    FROM sides
),
exponential AS (
    SELECT
        stream_id, start_ns, end_ns, least, largest, factor,
        CASE half
            WHEN 1 THEN pow(2.0, number * pow(2.0, -common_scale))
            WHEN 0 THEN -coalesce(number, 0)
            ELSE -pow(2.0, (number + 1) * pow(2.0, -common_scale))
        END AS low,
        CASE half
            WHEN 1 THEN pow(2.0, (number + 1) * pow(2.0, -common_scale))
            WHEN 0 THEN coalesce(number, 0)
            ELSE -pow(2.0, number * pow(2.0, -common_scale))
        END AS high,
        sum(count)::HUGEINT AS count
    FROM exponential_rows
    GROUP BY stream_id, start_ns, end_ns, least, largest, factor, common_scale, half, number
)
SELECT
    stream_id,
    start_ns,
    end_ns,
    -- No value of the interval lies beyond the least and the largest that the series has seen.
    greatest(if(isfinite(factor * low), factor * low, NULL), if(isfinite(least), least, NULL)) AS low,
    least(if(isfinite(factor * high), factor * high, NULL), if(isfinite(largest), largest, NULL)) AS high,
    count
FROM (FROM explicit UNION ALL BY NAME FROM exponential) AS all_buckets
WHERE count != 0;


COMMENT ON VIEW metric_names
    IS 'Names of serving engines, gateways and accelerators for their metrics, and the one name that each is known by here.';
COMMENT ON COLUMN metric_names.sender_key IS 'the sender''s name as metric_key() spells it';
COMMENT ON COLUMN metric_names.metric IS 'the name here';
COMMENT ON COLUMN metric_names.unit IS 'unit of the values here (UCUM)';
COMMENT ON COLUMN metric_names.factor IS 'what the sender''s values are multiplied by';
COMMENT ON COLUMN metric_names.stage IS 'the stage that it stands beside; null where none';

COMMENT ON VIEW metric_series IS 'One row per metric series, with its name here and what sent it.';
COMMENT ON COLUMN metric_series.stream_id IS 'number of the series in this store';
COMMENT ON COLUMN metric_series.metric IS 'name of the metric (metric_names); the sender''s where there is none';
COMMENT ON COLUMN metric_series.is_known IS 'whether metric_names has the metric';
COMMENT ON COLUMN metric_series.sender_name IS 'name that the sender gave';
COMMENT ON COLUMN metric_series.unit IS 'unit of the values (UCUM) after the factor';
COMMENT ON COLUMN metric_series.factor IS 'what the sender''s values are multiplied by';
COMMENT ON COLUMN metric_series.stage IS 'the stage that it stands beside; null where none';
COMMENT ON COLUMN metric_series.kind IS 'gauge, sum, histogram, exponential_histogram or summary';
COMMENT ON COLUMN metric_series.temporality IS 'DELTA, CUMULATIVE or UNSPECIFIED; null for kinds without';
COMMENT ON COLUMN metric_series.is_monotonic IS 'sums: whether the value never falls';
COMMENT ON COLUMN metric_series.service_name IS 'service that sent it';
COMMENT ON COLUMN metric_series.host_name IS 'host that sent it, else the instance of the service';
COMMENT ON COLUMN metric_series.model
    IS 'model that it is about (attributes model_name, model, gen_ai.request.model); null where it does not say';
COMMENT ON COLUMN metric_series.attributes IS 'attributes of the points, typed';

COMMENT ON VIEW metric_values
    IS 'Values of gauges, and of sums that may fall, in the unit of metric_series; points without a value are left out.';
COMMENT ON COLUMN metric_values.stream_id IS 'series (metric_series)';
COMMENT ON COLUMN metric_values.time_ns IS 'time of the point, nanoseconds since the epoch';
COMMENT ON COLUMN metric_values."value" IS 'the value';

COMMENT ON VIEW metric_increases
    IS 'What counters counted from one reading to the next, whether they are sent as deltas or cumulative, restarts included. Series that do not say which are left out.';
COMMENT ON COLUMN metric_increases.stream_id IS 'series (metric_series)';
COMMENT ON COLUMN metric_increases.start_ns
    IS 'since when it was counted, nanoseconds since the epoch; null where the sender does not say';
COMMENT ON COLUMN metric_increases.end_ns IS 'time of the reading, nanoseconds since the epoch';
COMMENT ON COLUMN metric_increases.increase IS 'how much was counted, in the unit of metric_series';
COMMENT ON COLUMN metric_increases.is_reset
    IS 'whether the counter began again in between; what it counted before is not known then';

COMMENT ON VIEW histogram_increases IS 'What histograms counted from one reading to the next, restarts included.';
COMMENT ON COLUMN histogram_increases.stream_id IS 'series (metric_series)';
COMMENT ON COLUMN histogram_increases.start_ns
    IS 'since when it was counted, nanoseconds since the epoch; null where the sender does not say';
COMMENT ON COLUMN histogram_increases.end_ns IS 'time of the reading, nanoseconds since the epoch';
COMMENT ON COLUMN histogram_increases.count IS 'values that were counted';
COMMENT ON COLUMN histogram_increases.sum
    IS 'their sum, in the unit of metric_series; null where the sender gave none';
COMMENT ON COLUMN histogram_increases.least
    IS 'smallest value that the sender has seen, since its start where it is cumulative; null where it gave none';
COMMENT ON COLUMN histogram_increases.largest IS 'largest value that the sender has seen; null where it gave none';
COMMENT ON COLUMN histogram_increases.is_reset IS 'whether the histogram began again in between';
COMMENT ON COLUMN histogram_increases.has_buckets
    IS 'whether its buckets are known: not where a cumulative sender changed its bounds';
COMMENT ON COLUMN histogram_increases.factor IS 'what bounds are multiplied by';
COMMENT ON COLUMN histogram_increases.buckets IS 'buckets of the reading, as metric_histograms has them';
COMMENT ON COLUMN histogram_increases.buckets_before
    IS 'buckets of the reading that it is counted from; null where it is counted from nothing';

COMMENT ON VIEW histogram_buckets
    IS 'Buckets of what histograms counted from one reading to the next, explicit and exponential alike; scales that change are brought to the coarser one.';
COMMENT ON COLUMN histogram_buckets.stream_id IS 'series (metric_series)';
COMMENT ON COLUMN histogram_buckets.start_ns
    IS 'since when it was counted, nanoseconds since the epoch; null where the sender does not say';
COMMENT ON COLUMN histogram_buckets.end_ns IS 'time of the reading, nanoseconds since the epoch';
COMMENT ON COLUMN histogram_buckets.low IS 'lower end, in the unit of metric_series; null where there is none';
COMMENT ON COLUMN histogram_buckets.high IS 'upper end; null where there is none';
COMMENT ON COLUMN histogram_buckets.count IS 'values in it';
