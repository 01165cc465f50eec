-- What every table, view and column means; the app and the reference page read it from the store.
--
-- Views and their columns take over the comments of the same names in base, or have their own.
COMMENT ON TABLE base.store_info IS 'what this store is: one row';
COMMENT ON COLUMN base.store_info.schema_version
    IS 'version of the tables and views; tracekit brings older ones up to date';
COMMENT ON COLUMN base.store_info.created_ns
    IS 'when the store was made, nanoseconds since the epoch';
COMMENT ON COLUMN base.store_info.created_by IS 'program and version that made the store';

COMMENT ON TABLE base.ingests IS 'what arrived: one row a file, stream or request, with its counts';
COMMENT ON COLUMN base.ingests.ingest_id IS 'number of the ingest, ascending';
COMMENT ON COLUMN base.ingests.source IS 'path of the file or name of the sender';
COMMENT ON COLUMN base.ingests.format
    IS 'encoding and framing that were recognised; null when nothing was';
COMMENT ON COLUMN base.ingests.received_ns IS 'when the ingest began, nanoseconds since the epoch';
COMMENT ON COLUMN base.ingests.spans IS 'spans that were stored';
COMMENT ON COLUMN base.ingests.metric_points IS 'metric points of all kinds that were stored';
COMMENT ON COLUMN base.ingests.logs IS 'log records that were stored';
COMMENT ON COLUMN base.ingests.duplicates
    IS 'records that were in the store already and were not stored again';
COMMENT ON COLUMN base.ingests.rejected
    IS 'records that were not stored, by reason in ingest_rejects';
COMMENT ON COLUMN base.ingests.error IS 'why the ingest ended early; null when it did not';

COMMENT ON TABLE base.ingest_rejects
    IS 'what an ingest did not store, or stored with something set aside: one row a reason';
COMMENT ON COLUMN base.ingest_rejects.ingest_id IS 'ingest (base.ingests) it happened in';
COMMENT ON COLUMN base.ingest_rejects.kind
    IS 'rejected: the record was not stored; note: it was stored, with something set aside';
COMMENT ON COLUMN base.ingest_rejects.signal
    IS 'traces, metrics or logs; null when it could not be told';
COMMENT ON COLUMN base.ingest_rejects.reason IS 'code of the reason in snake_case';
COMMENT ON COLUMN base.ingest_rejects.record_count IS 'number of records concerned';
COMMENT ON COLUMN base.ingest_rejects.first_offset
    IS 'byte offset of the first one in its (uncompressed) source; null when unknown';
COMMENT ON COLUMN base.ingest_rejects.example IS 'the first one in words: the field and what to do';

COMMENT ON TABLE base.resources
    IS 'entities that sent telemetry: one row a distinct set of resource attributes';
COMMENT ON COLUMN base.resources.resource_id IS 'number of the resource in this store';
COMMENT ON COLUMN base.resources.identity_hash
    IS 'hash over the whole content, the identity of the row';
COMMENT ON COLUMN base.resources.service_name IS 'attribute service.name';
COMMENT ON COLUMN base.resources.service_namespace IS 'attribute service.namespace';
COMMENT ON COLUMN base.resources.service_instance_id IS 'attribute service.instance.id';
COMMENT ON COLUMN base.resources.host_name IS 'attribute host.name';
COMMENT ON COLUMN base.resources.job_id IS 'attribute tracekit.job.id: the training job';
COMMENT ON COLUMN base.resources.attempt
    IS 'attribute tracekit.attempt: which start of the job, from 0';
COMMENT ON COLUMN base.resources.rank IS 'attribute tracekit.rank: rank of the process in the job';
COMMENT ON COLUMN base.resources.world_size
    IS 'attribute tracekit.world_size: number of ranks of the job';
COMMENT ON COLUMN base.resources.attributes IS 'all attributes of the resource, typed';
COMMENT ON COLUMN base.resources.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.resources.schema_url
    IS 'schema URL of the resource; null when the sender gave none';
COMMENT ON COLUMN base.resources.entity_refs
    IS 'entity references of the resource; null when there are none';

COMMENT ON TABLE base.scopes
    IS 'instrumentation scopes: one row a distinct library, version and attributes';
COMMENT ON COLUMN base.scopes.scope_id IS 'number of the scope in this store';
COMMENT ON COLUMN base.scopes.identity_hash
    IS 'hash over the whole content, the identity of the row';
COMMENT ON COLUMN base.scopes.name
    IS 'name of the instrumentation library; empty when the sender gave none';
COMMENT ON COLUMN base.scopes.version IS 'version of the instrumentation library';
COMMENT ON COLUMN base.scopes.attributes IS 'attributes of the scope, typed';
COMMENT ON COLUMN base.scopes.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.scopes.schema_url
    IS 'schema URL of the scope; null when the sender gave none';

COMMENT ON TABLE base.spans IS 'spans as received, each (trace_id, span_id) once';
COMMENT ON COLUMN base.spans.trace_id IS 'trace of the span (16 bytes)';
COMMENT ON COLUMN base.spans.span_id IS 'id of the span inside its trace (8 bytes, big-endian)';
COMMENT ON COLUMN base.spans.parent_span_id IS 'id of the parent span; null for a root';
COMMENT ON COLUMN base.spans.start_ns IS 'start, nanoseconds since the epoch';
COMMENT ON COLUMN base.spans.end_ns
    IS 'end, nanoseconds since the epoch; before the start if the sender said so';
COMMENT ON COLUMN base.spans.name IS 'name of the span';
COMMENT ON COLUMN base.spans.kind
    IS 'OTLP span kind: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer';
COMMENT ON COLUMN base.spans.status_code IS 'OTLP status: 0 unset, 1 ok, 2 error';
COMMENT ON COLUMN base.spans.status_message IS 'message of the status; null when empty';
COMMENT ON COLUMN base.spans.resource_id IS 'resource (base.resources) that sent the record';
COMMENT ON COLUMN base.spans.scope_id IS 'instrumentation scope (base.scopes) that made the record';
COMMENT ON COLUMN base.spans.attributes IS 'attributes of the span, typed';
COMMENT ON COLUMN base.spans.trace_state IS 'W3C trace state; null when empty';
COMMENT ON COLUMN base.spans.flags
    IS 'W3C trace flags (bits 0-7); bit 8: is_remote is known, bit 9: is_remote';
COMMENT ON COLUMN base.spans.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.spans.dropped_events_count IS 'events that the sender dropped';
COMMENT ON COLUMN base.spans.dropped_links_count IS 'links that the sender dropped';
COMMENT ON COLUMN base.spans.ingest_id IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.span_attribute_keys
    IS 'attribute keys that spans of each resource have, or had before they were pruned';
COMMENT ON COLUMN base.span_attribute_keys.resource_id IS 'resource (base.resources) of the spans';
COMMENT ON COLUMN base.span_attribute_keys.key IS 'name of an attribute';

COMMENT ON TABLE base.span_events IS 'events inside spans';
COMMENT ON COLUMN base.span_events.trace_id IS 'trace of the span (16 bytes)';
COMMENT ON COLUMN base.span_events.span_id IS 'span that the event lies in';
COMMENT ON COLUMN base.span_events.event_index IS 'position of the event in its span, from 0';
COMMENT ON COLUMN base.span_events.time_ns IS 'time of the event, nanoseconds since the epoch';
COMMENT ON COLUMN base.span_events.name IS 'name of the event';
COMMENT ON COLUMN base.span_events.attributes IS 'attributes of the event, typed';
COMMENT ON COLUMN base.span_events.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.span_events.ingest_id
    IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.span_links IS 'links from spans to other spans';
COMMENT ON COLUMN base.span_links.trace_id IS 'trace of the span that holds the link (16 bytes)';
COMMENT ON COLUMN base.span_links.span_id IS 'span that holds the link';
COMMENT ON COLUMN base.span_links.link_index IS 'position of the link in its span, from 0';
COMMENT ON COLUMN base.span_links.linked_trace_id IS 'trace of the span that is pointed at';
COMMENT ON COLUMN base.span_links.linked_span_id IS 'span that is pointed at';
COMMENT ON COLUMN base.span_links.trace_state IS 'W3C trace state of the link; null when empty';
COMMENT ON COLUMN base.span_links.flags IS 'flags of the link, as in spans';
COMMENT ON COLUMN base.span_links.attributes IS 'attributes of the link, typed';
COMMENT ON COLUMN base.span_links.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.span_links.ingest_id
    IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.metric_streams
    IS 'metric series: one row a distinct metric, resource, scope and set of point attributes';
COMMENT ON COLUMN base.metric_streams.stream_id IS 'number of the series in this store';
COMMENT ON COLUMN base.metric_streams.identity_hash
    IS 'hash over the whole content, the identity of the row';
COMMENT ON COLUMN base.metric_streams.resource_id
    IS 'resource (base.resources) that sent the record';
COMMENT ON COLUMN base.metric_streams.scope_id
    IS 'instrumentation scope (base.scopes) that made the record';
COMMENT ON COLUMN base.metric_streams.name IS 'name of the metric';
COMMENT ON COLUMN base.metric_streams.description IS 'description of the metric; null when empty';
COMMENT ON COLUMN base.metric_streams.unit IS 'unit of the values (UCUM); null when empty';
COMMENT ON COLUMN base.metric_streams.kind
    IS 'gauge, sum, histogram, exponential_histogram or summary';
COMMENT ON COLUMN base.metric_streams.temporality
    IS 'OTLP temporality: 0 unspecified, 1 delta, 2 cumulative; null where the kind has none';
COMMENT ON COLUMN base.metric_streams.is_monotonic
    IS 'whether a sum only rises; null for other kinds';
COMMENT ON COLUMN base.metric_streams.attributes IS 'attributes of the points, typed';
COMMENT ON COLUMN base.metric_streams.metadata IS 'metadata of the metric; null when there is none';

COMMENT ON TABLE base.metric_points IS 'points of gauges and sums';
COMMENT ON COLUMN base.metric_points.stream_id
    IS 'series (base.metric_streams) that the point belongs to';
COMMENT ON COLUMN base.metric_points.start_ns
    IS 'start of the covered interval, nanoseconds since the epoch; null when not given';
COMMENT ON COLUMN base.metric_points.time_ns IS 'time of the point, nanoseconds since the epoch';
COMMENT ON COLUMN base.metric_points.flags IS 'OTLP data point flags; bit 0: no value was recorded';
COMMENT ON COLUMN base.metric_points.value_int IS 'value when the sender sent an integer';
COMMENT ON COLUMN base.metric_points.value_double
    IS 'value when the sender sent a floating-point number';
COMMENT ON COLUMN base.metric_points.content_hash
    IS 'hash over the whole content of the row, by which a repeated record is recognised';
COMMENT ON COLUMN base.metric_points.ingest_id
    IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.metric_histograms IS 'points of explicit and exponential histograms';
COMMENT ON COLUMN base.metric_histograms.stream_id
    IS 'series (base.metric_streams) that the point belongs to';
COMMENT ON COLUMN base.metric_histograms.start_ns
    IS 'start of the covered interval, nanoseconds since the epoch; null when not given';
COMMENT ON COLUMN base.metric_histograms.time_ns
    IS 'time of the point, nanoseconds since the epoch';
COMMENT ON COLUMN base.metric_histograms.flags
    IS 'OTLP data point flags; bit 0: no value was recorded';
COMMENT ON COLUMN base.metric_histograms.count IS 'number of values';
COMMENT ON COLUMN base.metric_histograms.sum IS 'sum of the values; null when the sender gave none';
COMMENT ON COLUMN base.metric_histograms.min IS 'smallest value; null when the sender gave none';
COMMENT ON COLUMN base.metric_histograms.max IS 'largest value; null when the sender gave none';
COMMENT ON COLUMN base.metric_histograms.explicit_bounds
    IS 'upper bounds of the buckets, the last bucket has none; null for exponential histograms';
COMMENT ON COLUMN base.metric_histograms.bucket_counts
    IS 'values in each explicit bucket; null for exponential histograms';
COMMENT ON COLUMN base.metric_histograms.scale
    IS 'exponential: bucket i holds values in (base^i, base^(i+1)] with base = 2^(2^-scale)';
COMMENT ON COLUMN base.metric_histograms.zero_count IS 'exponential: values in the zero bucket';
COMMENT ON COLUMN base.metric_histograms.zero_threshold
    IS 'exponential: values up to this magnitude count as zero';
COMMENT ON COLUMN base.metric_histograms.positive_offset
    IS 'exponential: index of the first positive bucket';
COMMENT ON COLUMN base.metric_histograms.positive_counts
    IS 'exponential: values in each positive bucket';
COMMENT ON COLUMN base.metric_histograms.negative_offset
    IS 'exponential: index of the first negative bucket';
COMMENT ON COLUMN base.metric_histograms.negative_counts
    IS 'exponential: values in each negative bucket';
COMMENT ON COLUMN base.metric_histograms.content_hash
    IS 'hash over the whole content of the row, by which a repeated record is recognised';
COMMENT ON COLUMN base.metric_histograms.ingest_id
    IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.metric_summaries IS 'points of summaries: quantiles that the sender computed';
COMMENT ON COLUMN base.metric_summaries.stream_id
    IS 'series (base.metric_streams) that the point belongs to';
COMMENT ON COLUMN base.metric_summaries.start_ns
    IS 'start of the covered interval, nanoseconds since the epoch; null when not given';
COMMENT ON COLUMN base.metric_summaries.time_ns IS 'time of the point, nanoseconds since the epoch';
COMMENT ON COLUMN base.metric_summaries.flags
    IS 'OTLP data point flags; bit 0: no value was recorded';
COMMENT ON COLUMN base.metric_summaries.count IS 'number of values';
COMMENT ON COLUMN base.metric_summaries.sum IS 'sum of the values';
COMMENT ON COLUMN base.metric_summaries.quantiles IS 'the quantiles, between 0 and 1';
COMMENT ON COLUMN base.metric_summaries.quantile_values IS 'the value at each quantile';
COMMENT ON COLUMN base.metric_summaries.content_hash
    IS 'hash over the whole content of the row, by which a repeated record is recognised';
COMMENT ON COLUMN base.metric_summaries.ingest_id
    IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.exemplars
    IS 'example measurements behind metric points, with the span they were taken in';
COMMENT ON COLUMN base.exemplars.stream_id
    IS 'series (base.metric_streams) that the point belongs to';
COMMENT ON COLUMN base.exemplars.point_time_ns
    IS 'time of the point that carries the exemplar, nanoseconds since the epoch';
COMMENT ON COLUMN base.exemplars.time_ns IS 'time of the measurement, nanoseconds since the epoch';
COMMENT ON COLUMN base.exemplars.value_int IS 'value when the sender sent an integer';
COMMENT ON COLUMN base.exemplars.value_double
    IS 'value when the sender sent a floating-point number';
COMMENT ON COLUMN base.exemplars.trace_id
    IS 'trace of the span that was active; null when there was none';
COMMENT ON COLUMN base.exemplars.span_id IS 'span that was active; null when there was none';
COMMENT ON COLUMN base.exemplars.attributes
    IS 'attributes that the metric''s aggregation removed, typed';
COMMENT ON COLUMN base.exemplars.content_hash
    IS 'hash over the whole content of the row, by which a repeated record is recognised';
COMMENT ON COLUMN base.exemplars.ingest_id IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.logs IS 'log records';
COMMENT ON COLUMN base.logs.time_ns
    IS 'time of the event, nanoseconds since the epoch; null when the sender gave none';
COMMENT ON COLUMN base.logs.observed_time_ns
    IS 'when the collector saw the record, nanoseconds since the epoch; null when not given';
COMMENT ON COLUMN base.logs.severity_number
    IS 'OTLP severity: from 1 trace, 5 debug, 9 info, 13 warn, 17 error, 21 fatal; 0 unknown';
COMMENT ON COLUMN base.logs.severity_text IS 'severity as the source spells it; null when empty';
COMMENT ON COLUMN base.logs.event_name IS 'name of the event class; null when empty';
COMMENT ON COLUMN base.logs.body IS 'body of the record, typed';
COMMENT ON COLUMN base.logs.trace_id IS 'trace that was active; null when there was none';
COMMENT ON COLUMN base.logs.span_id IS 'span that was active; null when there was none';
COMMENT ON COLUMN base.logs.resource_id IS 'resource (base.resources) that sent the record';
COMMENT ON COLUMN base.logs.scope_id IS 'instrumentation scope (base.scopes) that made the record';
COMMENT ON COLUMN base.logs.attributes IS 'attributes of the record, typed';
COMMENT ON COLUMN base.logs.dropped_attributes_count
    IS 'attributes that the sender dropped before sending';
COMMENT ON COLUMN base.logs.flags IS 'W3C trace flags of the active span';
COMMENT ON COLUMN base.logs.content_hash
    IS 'hash over the whole content of the row, by which a repeated record is recognised';
COMMENT ON COLUMN base.logs.ingest_id IS 'id of the ingest (base.ingests) that stored the row';

COMMENT ON TABLE base.stages IS 'where time can go, in the field''s words';
COMMENT ON COLUMN base.stages.stage IS 'dotted code of the stage';
COMMENT ON COLUMN base.stages.unit_kind IS 'unit it belongs to: request, step, job, or none';
COMMENT ON COLUMN base.stages.windows
    IS 'windows it may lie in, comma-separated: ttft, decode, after, step, job';
COMMENT ON COLUMN base.stages.layer
    IS 'gateway, frontend, engine, kv, network, compute, memory, storage, scheduler or host';
COMMENT ON COLUMN base.stages.owner
    IS 'who can do something about it: client, application, platform, provider or nobody';
COMMENT ON COLUMN base.stages.description IS 'what the stage is';

COMMENT ON TABLE base.units IS 'things whose time is explained: requests and training steps';
COMMENT ON COLUMN base.units.unit_id IS 'number of the unit in this store';
COMMENT ON COLUMN base.units.kind IS 'request, or step (one rank''s part of a training step)';
COMMENT ON COLUMN base.units.trace_id IS 'trace of the unit';
COMMENT ON COLUMN base.units.root_span_id IS 'span that spans the unit';
COMMENT ON COLUMN base.units.job_id IS 'training job; null for requests';
COMMENT ON COLUMN base.units.attempt IS 'attempt of the job; null for requests';
COMMENT ON COLUMN base.units.step IS 'step number; null for requests';
COMMENT ON COLUMN base.units.rank IS 'rank of the process; null for requests';
COMMENT ON COLUMN base.units.service_name IS 'service of the root span';
COMMENT ON COLUMN base.units.name IS 'name of the root span';
COMMENT ON COLUMN base.units.model IS 'model that served the request; null when unknown';
COMMENT ON COLUMN base.units.start_ns IS 'start, nanoseconds since the epoch';
COMMENT ON COLUMN base.units.end_ns IS 'end, nanoseconds since the epoch';
COMMENT ON COLUMN base.units.first_token_ns
    IS 'when the first token came, nanoseconds since the epoch; null when unknown';
COMMENT ON COLUMN base.units.last_token_ns
    IS 'when the last token came, nanoseconds since the epoch; null when unknown';
COMMENT ON COLUMN base.units.input_tokens IS 'tokens of the prompt; null when unknown';
COMMENT ON COLUMN base.units.output_tokens IS 'tokens that were generated; null when unknown';
COMMENT ON COLUMN base.units.outcome IS 'how the unit ended';
COMMENT ON COLUMN base.units.vantage IS 'layer that saw the first token: client, gateway, engine, rank, or service where nothing calls a model';
COMMENT ON COLUMN base.units.attributes IS 'attributes of the root span, typed';
COMMENT ON COLUMN base.units.span_count IS 'spans of the unit';
COMMENT ON COLUMN base.units.orphan_count IS 'spans whose parent is missing';
COMMENT ON COLUMN base.units.orphan_ns IS 'time of spans whose parent is missing, nanoseconds';
COMMENT ON COLUMN base.units.outside_count IS 'spans that lie outside the unit''s window';
COMMENT ON COLUMN base.units.outside_ns IS 'time of spans outside the unit''s window, nanoseconds';
COMMENT ON COLUMN base.units.post_root_ns IS 'time after the root span''s end, nanoseconds';
COMMENT ON COLUMN base.units.shift_ns IS 'largest correction of a clock, nanoseconds';
COMMENT ON COLUMN base.units.conflict_count IS 'values that contradict each other or cannot be';
COMMENT ON COLUMN base.units.flags
    IS 'what was noticed about the unit, comma-separated; null when nothing was';
COMMENT ON COLUMN base.units.seen_from
    IS 'outermost layer whose spans the unit has: client, gateway, engine, rank, or service; null: as vantage';

COMMENT ON TABLE base.request_ids
    IS 'ids of requests that spans name, by which one request over several traces is found';
COMMENT ON COLUMN base.request_ids.request_id IS 'the id, without what APIs put before and behind it';
COMMENT ON COLUMN base.request_ids.trace_id IS 'trace with a span that names it';
COMMENT ON COLUMN base.request_ids.first_ns IS 'earliest start of such a span, nanoseconds since the epoch';
COMMENT ON COLUMN base.request_ids.last_ns IS 'latest end of such a span, nanoseconds since the epoch';

COMMENT ON TABLE base.joined_spans
    IS 'topmost spans of traces that are part of a request whose own span is in another trace';
COMMENT ON COLUMN base.joined_spans.trace_id IS 'trace of the span';
COMMENT ON COLUMN base.joined_spans.span_id IS 'the span';
COMMENT ON COLUMN base.joined_spans.request_trace_id IS 'trace of the request';
COMMENT ON COLUMN base.joined_spans.parent_span_id IS 'span of the request that it is taken to hang below';

COMMENT ON TABLE base.unit_stages
    IS 'exclusive time of each stage inside a unit''s window; the parts sum to the window exactly';
COMMENT ON COLUMN base.unit_stages.unit_id IS 'unit (base.units)';
COMMENT ON COLUMN base.unit_stages."window" IS 'part of the unit: ttft, decode, after, e2e or step';
COMMENT ON COLUMN base.unit_stages.stage IS 'stage that the time belongs to, unattributed included';
COMMENT ON COLUMN base.unit_stages.operation
    IS 'span or derived operation that the time belongs to';
COMMENT ON COLUMN base.unit_stages.self_ns IS 'exclusive time under the primary rule, nanoseconds';
COMMENT ON COLUMN base.unit_stages.alternative_ns
    IS 'exclusive time under the other rule, nanoseconds; the difference is ambiguity';
COMMENT ON COLUMN base.unit_stages.operation_count IS 'operations that the time comes from';

COMMENT ON TABLE base.step_waits
    IS 'time that a step waited for another rank, split by who was waited for';
COMMENT ON COLUMN base.step_waits.unit_id IS 'unit (base.units) that waited';
COMMENT ON COLUMN base.step_waits.culprit_rank IS 'rank that arrived last';
COMMENT ON COLUMN base.step_waits.culprit_stage IS 'stage that rank was in meanwhile';
COMMENT ON COLUMN base.step_waits.culprit_operation IS 'operation that rank was in meanwhile';
COMMENT ON COLUMN base.step_waits.wait_ns IS 'waiting time, nanoseconds';
COMMENT ON COLUMN base.step_waits.culprit_step
    IS 'step of that rank that this was in or led into: the one that waited, or the one before; null stands for the one that waited';
COMMENT ON COLUMN base.step_waits.basis
    IS 'collective: in a collective of the step; before_step: in one between the steps; common_end: in a save that all ranks leave together, which rank 0 is assumed to write. Those of collective sum to step.straggler_wait of the unit';

COMMENT ON TABLE base.step_lead_ins
    IS 'what a rank did between its last step and this one, by stage; the parts sum to that time exactly';
COMMENT ON COLUMN base.step_lead_ins.unit_id IS 'unit (base.units) that it leads into';
COMMENT ON COLUMN base.step_lead_ins.stage IS 'stage that the time belongs to, unattributed included';
COMMENT ON COLUMN base.step_lead_ins.operation IS 'span that the time belongs to, or between steps';
COMMENT ON COLUMN base.step_lead_ins.self_ns IS 'exclusive time, nanoseconds';

COMMENT ON TABLE base.step_collectives
    IS 'what a rank spent in the collectives of each group in a step, by their name';
COMMENT ON COLUMN base.step_collectives.unit_id IS 'unit (base.units) that took part';
COMMENT ON COLUMN base.step_collectives.collective_group IS 'group of ranks, empty where not told';
COMMENT ON COLUMN base.step_collectives.collective_name IS 'kind of collective, empty where not told';
COMMENT ON COLUMN base.step_collectives.member_count IS 'ranks that took part';
COMMENT ON COLUMN base.step_collectives.instance_count
    IS 'collectives whose waiting and transfer can be told apart; all sums are over these';
COMMENT ON COLUMN base.step_collectives.unsplit_count IS 'collectives where they cannot';
COMMENT ON COLUMN base.step_collectives.bytes IS 'bytes that the rank told, null where one does not tell';
COMMENT ON COLUMN base.step_collectives.wait_ns
    IS 'from the start of the rank to that of the last one, nanoseconds, hidden time included';
COMMENT ON COLUMN base.step_collectives.transfer_ns
    IS 'from the start of the last rank to the end on this one, nanoseconds, hidden time included';
COMMENT ON COLUMN base.step_collectives.shortest_ns
    IS 'from the start of the last rank to the end on the rank that left first, nanoseconds';
COMMENT ON COLUMN base.step_collectives.exposed_ns IS 'transfer that no compute or copy hid, nanoseconds';

COMMENT ON TABLE base.built_through IS 'how far units are up to date: one row';
COMMENT ON COLUMN base.built_through.ingest_id
    IS 'last ingest (base.ingests) whose records are in the units';

COMMENT ON TABLE base.jobs
    IS 'training jobs: all accelerators that were requested, from submission to release';
COMMENT ON COLUMN base.jobs.job_id
    IS 'the job; several runs of one name have their number behind it';
COMMENT ON COLUMN base.jobs.name
    IS 'attribute tracekit.job.id; empty where ranks name no job';
COMMENT ON COLUMN base.jobs.accelerators
    IS 'accelerators that were requested';
COMMENT ON COLUMN base.jobs.start_ns
    IS 'submission, or the first thing seen, nanoseconds since the epoch';
COMMENT ON COLUMN base.jobs.end_ns
    IS 'release, or the last thing seen, nanoseconds since the epoch';
COMMENT ON COLUMN base.jobs.is_ended
    IS 'whether the end of the job was seen';
COMMENT ON COLUMN base.jobs.attempts_inferred
    IS 'whether attempts are cut by timing because nobody tells them';

COMMENT ON COLUMN base.jobs.span_count
    IS 'spans of the job that belong to none of its steps';

COMMENT ON TABLE base.job_attempts
    IS 'attempts of jobs: one try after the other, without gaps between them';
COMMENT ON COLUMN base.job_attempts.job_id
    IS 'job (base.jobs)';
COMMENT ON COLUMN base.job_attempts.attempt
    IS 'number of the attempt';
COMMENT ON COLUMN base.job_attempts.outcome
    IS 'done, failed, stopped (another attempt follows as planned) or running';
COMMENT ON COLUMN base.job_attempts.world_size
    IS 'accelerators in the running world; null where nobody tells';
COMMENT ON COLUMN base.job_attempts.begun_ns
    IS 'begin, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_attempts.all_granted_ns
    IS 'when all accelerators were granted, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_attempts.first_step_ns
    IS 'when the first step began, nanoseconds since the epoch; null without steps';
COMMENT ON COLUMN base.job_attempts.stopped_ns
    IS 'when steps stopped: the onset of a failure, or the last step or save, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_attempts.declared_ns
    IS 'when a failure was known, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_attempts.end_ns
    IS 'end, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_attempts.first_step
    IS 'number of the first step; null without steps';
COMMENT ON COLUMN base.job_attempts.made_step
    IS 'number of the last whole step';
COMMENT ON COLUMN base.job_attempts.kept_step
    IS 'last step that no later attempt made again';
COMMENT ON COLUMN base.job_attempts.durable_step
    IS 'last step that was saved for sure in this attempt';

COMMENT ON TABLE base.job_leaves
    IS 'where the time of a job''s accelerators went: over its rows accelerators times each_ns sums to the job exactly';
COMMENT ON COLUMN base.job_leaves.job_id
    IS 'job (base.jobs)';
COMMENT ON COLUMN base.job_leaves.attempt
    IS 'attempt; null where the job has none';
COMMENT ON COLUMN base.job_leaves.leaf
    IS 'stage of the job, or of its kept steps; step where nobody tells what was inside';
COMMENT ON COLUMN base.job_leaves.owner
    IS 'who can do something about it; of time lost to a failure the owner of its cause';
COMMENT ON COLUMN base.job_leaves.accelerators
    IS 'accelerators that spent the time alike';
COMMENT ON COLUMN base.job_leaves.each_ns
    IS 'time of each of them, nanoseconds';
COMMENT ON COLUMN base.job_leaves.is_derived
    IS 'whether it follows from others because its own spans are missing';

COMMENT ON TABLE base.job_incidents
    IS 'failures of jobs: one row a failed attempt, with its first cause';
COMMENT ON COLUMN base.job_incidents.job_id
    IS 'job (base.jobs)';
COMMENT ON COLUMN base.job_incidents.attempt
    IS 'attempt that failed';
COMMENT ON COLUMN base.job_incidents.kind
    IS 'device, host, network, storage, software or unknown';
COMMENT ON COLUMN base.job_incidents.owner
    IS 'who owns the cause; nobody where it is unknown';
COMMENT ON COLUMN base.job_incidents.rule
    IS 'how the cause was found: evidence, stopped_first, silent, absent or unknown';
COMMENT ON COLUMN base.job_incidents.stage
    IS 'where the attempt was: step, job.checkpoint_load, job.init or job.provision';
COMMENT ON COLUMN base.job_incidents.manner
    IS 'explicit (a process ended), implicit (it hung) or unknown';
COMMENT ON COLUMN base.job_incidents.ranks
    IS 'culprit ranks; empty where unknown';
COMMENT ON COLUMN base.job_incidents.hosts
    IS 'culprit hosts; empty where unknown';
COMMENT ON COLUMN base.job_incidents.message
    IS 'what proves it';
COMMENT ON COLUMN base.job_incidents.source
    IS 'where the message was: event, status or log; null for none';
COMMENT ON COLUMN base.job_incidents.resource_id
    IS 'resource (base.resources) that said it';
COMMENT ON COLUMN base.job_incidents.trace_id
    IS 'trace of the message';
COMMENT ON COLUMN base.job_incidents.span_id
    IS 'span of the message';
COMMENT ON COLUMN base.job_incidents.onset_ns
    IS 'when it began, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_incidents.onset_slack_ns
    IS 'how far the onset may be off, nanoseconds';
COMMENT ON COLUMN base.job_incidents.declared_ns
    IS 'when it was known, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_incidents.recovered_ns
    IS 'when the next attempt made steps, nanoseconds since the epoch; null for none';
COMMENT ON COLUMN base.job_incidents.recovery
    IS 'whether the step resumed from had been saved: saved, unsaved, from the same step, unknown or none';
COMMENT ON COLUMN base.job_incidents.resumed_step
    IS 'last step that the next attempt did not have to make';
COMMENT ON COLUMN base.job_incidents.blast_radius
    IS 'processes that ended because of it, the culprits not counted';

COMMENT ON TABLE base.job_members
    IS 'what each process of a failed attempt was: culprit or victim';
COMMENT ON COLUMN base.job_members.job_id
    IS 'job (base.jobs)';
COMMENT ON COLUMN base.job_members.attempt
    IS 'attempt that failed';
COMMENT ON COLUMN base.job_members.rank
    IS 'rank of the process';
COMMENT ON COLUMN base.job_members.host
    IS 'its host; null where unknown';
COMMENT ON COLUMN base.job_members.role
    IS 'initiating, cascade, teardown or unknown';
COMMENT ON COLUMN base.job_members.manner
    IS 'failed, blocked, stopped or ended';
COMMENT ON COLUMN base.job_members.time_ns
    IS 'when it said so or ended, nanoseconds since the epoch';
COMMENT ON COLUMN base.job_members.message
    IS 'what it said first; null for nothing';

COMMENT ON TABLE base.job_notes
    IS 'what was noticed about the records of a job that answers have to live with';
COMMENT ON COLUMN base.job_notes.job_id
    IS 'job (base.jobs)';
COMMENT ON COLUMN base.job_notes.note
    IS 'stable code of the finding';
COMMENT ON COLUMN base.job_notes.count
    IS 'how many';
COMMENT ON COLUMN base.job_notes.text
    IS 'the finding in a sentence';

COMMENT ON TABLE base.jobs_built_through
    IS 'how far units of jobs are up to date: one row';
COMMENT ON COLUMN base.jobs_built_through.ingest_id
    IS 'last ingest (base.ingests) whose records are in them';

-- Columns that only views have, or that views show differently.
COMMENT ON COLUMN spans.trace_id IS 'trace of the span (32 hexadecimal digits)';
COMMENT ON COLUMN spans.span_id IS 'id of the span inside its trace (16 hexadecimal digits)';
COMMENT ON COLUMN spans.parent_span_id
    IS 'id of the parent span (16 hexadecimal digits); null for a root';
COMMENT ON COLUMN spans.service_name IS 'attribute service.name of the resource';
COMMENT ON COLUMN spans.kind IS 'UNSPECIFIED, INTERNAL, SERVER, CLIENT, PRODUCER or CONSUMER';
COMMENT ON COLUMN spans.duration_ns
    IS 'end minus start, nanoseconds; negative if the sender said so';
COMMENT ON COLUMN spans.status_code IS 'UNSET, OK or ERROR';
COMMENT ON COLUMN spans.span_attributes IS 'attributes of the span, typed';
COMMENT ON COLUMN spans.resource_attributes IS 'attributes of the resource, typed';
COMMENT ON COLUMN spans.scope_name IS 'name of the instrumentation library';
COMMENT ON COLUMN spans.scope_version IS 'version of the instrumentation library';

COMMENT ON COLUMN span_events.trace_id IS 'trace of the span (32 hexadecimal digits)';
COMMENT ON COLUMN span_events.span_id IS 'span that the event lies in (16 hexadecimal digits)';

COMMENT ON COLUMN span_links.trace_id
    IS 'trace of the span that holds the link (32 hexadecimal digits)';
COMMENT ON COLUMN span_links.span_id IS 'span that holds the link (16 hexadecimal digits)';
COMMENT ON COLUMN span_links.linked_trace_id
    IS 'trace of the span that is pointed at (32 hexadecimal digits)';
COMMENT ON COLUMN span_links.linked_span_id IS 'span that is pointed at (16 hexadecimal digits)';

COMMENT ON COLUMN metric_streams.service_name IS 'attribute service.name of the resource';
COMMENT ON COLUMN metric_streams.temporality
    IS 'UNSPECIFIED, DELTA or CUMULATIVE; null where the kind has none';
COMMENT ON COLUMN metric_streams.resource_attributes IS 'attributes of the resource, typed';
COMMENT ON COLUMN metric_streams.scope_name IS 'name of the instrumentation library';

COMMENT ON COLUMN exemplars.trace_id
    IS 'trace of the span that was active (32 hexadecimal digits); null when there was none';
COMMENT ON COLUMN exemplars.span_id
    IS 'span that was active (16 hexadecimal digits); null when there was none';

COMMENT ON COLUMN logs.service_name IS 'attribute service.name of the resource';
COMMENT ON COLUMN logs.trace_id
    IS 'trace that was active (32 hexadecimal digits); null when there was none';
COMMENT ON COLUMN logs.span_id
    IS 'span that was active (16 hexadecimal digits); null when there was none';
COMMENT ON COLUMN logs.log_attributes IS 'attributes of the record, typed';
COMMENT ON COLUMN logs.resource_attributes IS 'attributes of the resource, typed';
COMMENT ON COLUMN logs.scope_name IS 'name of the instrumentation library';

COMMENT ON COLUMN units.trace_id IS 'trace of the unit (32 hexadecimal digits)';
COMMENT ON COLUMN units.root_span_id IS 'span that spans the unit (16 hexadecimal digits)';
COMMENT ON COLUMN resources.resource_key
    IS 'id of the resource in every store: 63 bits of a hash of its content';
COMMENT ON COLUMN scopes.scope_key
    IS 'id of the scope in every store: 63 bits of a hash of its content';
COMMENT ON COLUMN metric_streams.stream_key
    IS 'id of the series in every store: 63 bits of a hash of its content, its resource and its scope';
COMMENT ON COLUMN units.unit_key
    IS 'id of the unit in every store: 63 bits of a hash of its key (request: trace and root span; step: job, attempt, step and rank)';
COMMENT ON MACRO portable_id IS 'the id that stands for a hash of 128 bits in every store: its lower 63 bits';
COMMENT ON MACRO unit_key IS 'the id of a unit in every store, from what it is known by';
COMMENT ON COLUMN units.e2e_ns IS 'end minus start, nanoseconds';
COMMENT ON COLUMN units.ttft_ns
    IS 'time to first token: first token minus start, nanoseconds; null when unknown';
COMMENT ON COLUMN units.tpot_ns
    IS 'time per output token after the first, nanoseconds; null below two tokens';

COMMENT ON COLUMN job_leaves.accelerator_ns
    IS 'accelerators times the time of each, nanoseconds (HUGEINT)';
COMMENT ON COLUMN job_incidents.trace_id IS 'trace of the message (32 hexadecimal digits)';
COMMENT ON COLUMN job_incidents.span_id IS 'span of the message (16 hexadecimal digits)';

COMMENT ON VIEW training_ranks
    IS 'One row per rank of an attempt of a training job: where it runs and what it does there.';
COMMENT ON COLUMN training_ranks.job_id IS 'training job; empty where it did not say';
COMMENT ON COLUMN training_ranks.attempt IS 'attempt of the job; -1 where it did not say';
COMMENT ON COLUMN training_ranks.rank IS 'rank in the job';
COMMENT ON COLUMN training_ranks.host_name IS 'host of the rank; null where it did not say';
COMMENT ON COLUMN training_ranks.role
    IS 'what ranks are compared within: tracekit.parallel.pp as text; null where it did not say';
COMMENT ON COLUMN training_ranks.pipeline_stage
    IS 'coordinate in the pipeline (tracekit.parallel.pp); null where it did not say';

COMMENT ON VIEW training_worlds IS 'One row per attempt of a training job that says how many ranks it has.';
COMMENT ON COLUMN training_worlds.job_id IS 'training job; empty where it did not say';
COMMENT ON COLUMN training_worlds.attempt IS 'attempt of the job; -1 where it did not say';
COMMENT ON COLUMN training_worlds.world_size IS 'number of ranks';

COMMENT ON VIEW training_steps
    IS 'One row per rank''s part of a training step, with what decides whether the step is looked at.';
COMMENT ON COLUMN training_steps.unit_id IS 'unit (base.units)';
COMMENT ON COLUMN training_steps.job_id IS 'training job; empty where it did not say';
COMMENT ON COLUMN training_steps.attempt IS 'attempt of the job; -1 where it did not say';
COMMENT ON COLUMN training_steps.step IS 'number of the step';
COMMENT ON COLUMN training_steps.rank IS 'rank in the job';
COMMENT ON COLUMN training_steps.start_ns IS 'start of the rank''s part, nanoseconds since the epoch';
COMMENT ON COLUMN training_steps.end_ns IS 'its end, nanoseconds since the epoch';
COMMENT ON COLUMN training_steps.is_warm_up IS 'whether it is the first step of its attempt, which warms up';
COMMENT ON COLUMN training_steps.is_ok IS 'whether the step ended well on every rank; others are cut short';

COMMENT ON VIEW step_times
    IS 'Ranks'' parts of training steps with how long they took, what led into them, and how long they waited.';
COMMENT ON COLUMN step_times.unit_id IS 'unit (base.units)';
COMMENT ON COLUMN step_times.job_id IS 'training job; empty where it did not say';
COMMENT ON COLUMN step_times.attempt IS 'attempt of the job; -1 where it did not say';
COMMENT ON COLUMN step_times.step IS 'number of the step';
COMMENT ON COLUMN step_times.rank IS 'rank in the job';
COMMENT ON COLUMN step_times.step_ns IS 'duration of the rank''s part, nanoseconds';
COMMENT ON COLUMN step_times.lead_in_ns
    IS 'time since the rank''s last step, less the work in it of the rank that had least, nanoseconds';
COMMENT ON COLUMN step_times.waited_ns IS 'waiting for other ranks, in the step and before it, nanoseconds';

COMMENT ON VIEW looked_at_steps
    IS 'Ranks'' parts of the training steps that answers look at: not the first of an attempt, and ended well on every rank.';
COMMENT ON COLUMN looked_at_steps.unit_id IS 'unit (base.units)';
COMMENT ON COLUMN looked_at_steps.job_id IS 'training job; empty where it did not say';
COMMENT ON COLUMN looked_at_steps.attempt IS 'attempt of the job; -1 where it did not say';
COMMENT ON COLUMN looked_at_steps.step IS 'number of the step';
COMMENT ON COLUMN looked_at_steps.rank IS 'rank in the job';
COMMENT ON COLUMN looked_at_steps.start_ns IS 'start of the rank''s part, nanoseconds since the epoch';
COMMENT ON COLUMN looked_at_steps.end_ns IS 'its end, nanoseconds since the epoch';
COMMENT ON COLUMN looked_at_steps.host_name IS 'host of the rank; null where it did not say';
COMMENT ON COLUMN looked_at_steps.role IS 'what ranks are compared within; empty where it did not say';
COMMENT ON COLUMN looked_at_steps.pipeline_stage IS 'coordinate in the pipeline; null where it did not say';
