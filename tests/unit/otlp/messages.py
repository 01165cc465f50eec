"""Random OTLP messages, built with the official classes, and the same messages as OTLP/JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    EntityRef,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)  # fmt: skip
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Exemplar,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)  # fmt: skip
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status, TracesData

HEX_IDS = {"traceId", "spanId", "parentSpanId"}
NO_RECORDED_VALUE = 1

texts = st.text(max_size=12)
uint32s = st.integers(0, 2**32 - 1)
uint64s = st.integers(0, 2**64 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
times_ns = st.integers(1, 2**63 - 1)
times_or_zero_ns = st.integers(0, 2**63 - 1)
doubles = st.floats(width=64)
bytes_of = {size: st.binary(min_size=size, max_size=size).filter(any) for size in (8, 16)}

scalars = st.one_of(
    st.builds(AnyValue),
    st.builds(AnyValue, string_value=texts),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, int_value=int64s),
    st.builds(AnyValue, double_value=doubles),
    st.builds(AnyValue, bytes_value=st.binary(max_size=7)),
)
keys = texts | st.sampled_from(["stringValue", "bytesValue", "kvlistValue", "a", "b"])


def _nested(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    arrays = st.builds(ArrayValue, values=st.lists(values, max_size=3))
    pairs = st.builds(KeyValueList, values=st.lists(st.builds(KeyValue, key=keys, value=values), max_size=3))
    return st.builds(AnyValue, array_value=arrays) | st.builds(AnyValue, kvlist_value=pairs)


any_values = st.recursive(scalars, _nested, max_leaves=6)
attributes = st.lists(st.builds(KeyValue, key=keys, value=any_values), max_size=4)
entity_refs = st.builds(
    EntityRef,
    schema_url=texts,
    type=texts,
    id_keys=st.lists(texts, max_size=2),
    description_keys=st.lists(texts, max_size=2),
)
resources = st.builds(
    Resource,
    attributes=attributes,
    dropped_attributes_count=uint32s,
    entity_refs=st.lists(entity_refs, max_size=2),
)
scopes = st.builds(
    InstrumentationScope, name=texts, version=texts, attributes=attributes, dropped_attributes_count=uint32s
)

events = st.builds(
    Span.Event,
    time_unix_nano=times_or_zero_ns,
    name=texts,
    attributes=attributes,
    dropped_attributes_count=uint32s,
)
links = st.builds(
    Span.Link, trace_id=bytes_of[16], span_id=bytes_of[8], trace_state=texts, attributes=attributes,
    dropped_attributes_count=uint32s, flags=uint32s,
)  # fmt: skip
spans = st.builds(
    Span,
    trace_id=bytes_of[16],
    span_id=bytes_of[8],
    parent_span_id=bytes_of[8] | st.just(b"") | st.just(bytes(8)),
    trace_state=texts,
    flags=uint32s,
    name=texts,
    kind=st.integers(0, 255),
    start_time_unix_nano=times_ns,
    end_time_unix_nano=times_or_zero_ns,
    attributes=attributes,
    dropped_attributes_count=uint32s,
    events=st.lists(events, max_size=2),
    dropped_events_count=uint32s,
    links=st.lists(links, max_size=2),
    dropped_links_count=uint32s,
    status=st.builds(Status, message=texts, code=st.integers(0, 255)),
)
traces_data = st.builds(TracesData, resource_spans=st.lists(
    st.builds(ResourceSpans, resource=resources, schema_url=texts, scope_spans=st.lists(
        st.builds(ScopeSpans, scope=scopes, schema_url=texts, spans=st.lists(spans, max_size=2)), max_size=2,
    )), max_size=2,
))  # fmt: skip

log_records = st.builds(
    LogRecord, time_unix_nano=times_or_zero_ns, observed_time_unix_nano=times_or_zero_ns,
    severity_number=st.integers(0, 255), severity_text=texts, body=any_values, attributes=attributes,
    dropped_attributes_count=uint32s, flags=uint32s, trace_id=bytes_of[16] | st.just(b""),
    span_id=bytes_of[8] | st.just(b""), event_name=texts,
)  # fmt: skip
logs_data = st.builds(
    LogsData,
    resource_logs=st.lists(
        st.builds(
            ResourceLogs,
            resource=resources,
            schema_url=texts,
            scope_logs=st.lists(
                st.builds(ScopeLogs, scope=scopes, schema_url=texts, log_records=st.lists(log_records, max_size=2)),
                max_size=2,
            ),
        ),
        max_size=2,
    ),
)

exemplar_times = {"time_unix_nano": times_or_zero_ns, "filtered_attributes": attributes}
exemplar_ids = {"trace_id": bytes_of[16] | st.just(b""), "span_id": bytes_of[8] | st.just(b"")}
exemplars = st.lists(
    st.builds(Exemplar, as_int=int64s, **exemplar_times, **exemplar_ids)
    | st.builds(Exemplar, as_double=doubles, **exemplar_times, **exemplar_ids),
    max_size=2,
)
common = {
    "attributes": attributes,
    "start_time_unix_nano": times_or_zero_ns,
    "time_unix_nano": times_ns,
    "flags": uint32s,
}
number_points = st.lists(
    st.builds(NumberDataPoint, as_int=int64s, exemplars=exemplars, **common)
    | st.builds(NumberDataPoint, as_double=doubles, exemplars=exemplars, **common)
    | st.builds(NumberDataPoint, **{**common, "flags": st.just(NO_RECORDED_VALUE)}),
    max_size=2,
)
optional = {"sum": doubles, "min": doubles, "max": doubles}
_bounds = st.lists(doubles, max_size=3)


@st.composite
def _histogram_points(draw: st.DrawFn) -> HistogramDataPoint:
    bounds = draw(_bounds)
    count = len(bounds) + 1 if bounds or draw(st.booleans()) else 0
    buckets = draw(st.lists(uint64s, min_size=count, max_size=count))
    kept = draw(st.dictionaries(st.sampled_from(sorted(optional)), doubles))
    base = draw(st.fixed_dictionaries({**common, "count": uint64s, "exemplars": exemplars}))
    return HistogramDataPoint(explicit_bounds=bounds, bucket_counts=buckets, **kept, **base)


_int32s = st.integers(-(2**31), 2**31 - 1)
_buckets = st.builds(ExponentialHistogramDataPoint.Buckets, offset=_int32s, bucket_counts=st.lists(uint64s, max_size=3))
exponential_points = st.builds(
    ExponentialHistogramDataPoint,
    count=uint64s,
    sum=doubles,
    scale=_int32s,
    zero_count=uint64s,
    positive=_buckets,
    exemplars=exemplars,
    max=doubles,
    zero_threshold=doubles,
    **common,
)
summary_points = st.builds(
    SummaryDataPoint, count=uint64s, sum=doubles, **common, quantile_values=st.lists(
        st.builds(SummaryDataPoint.ValueAtQuantile, quantile=doubles, value=doubles), max_size=2,
    ),
)  # fmt: skip
temporalities = st.integers(1, 2)
metrics = st.one_of(
    *(
        st.builds(
            Metric,
            name=texts.filter(bool),
            description=texts,
            unit=texts,
            metadata=attributes,
            **{kind: data},
        )
        for kind, data in {
            "gauge": st.builds(Gauge, data_points=number_points),
            "sum": st.builds(
                Sum,
                data_points=number_points,
                aggregation_temporality=temporalities,
                is_monotonic=st.booleans(),
            ),
            "histogram": st.builds(
                Histogram,
                data_points=st.lists(_histogram_points(), max_size=2),
                aggregation_temporality=temporalities,
            ),
            "exponential_histogram": st.builds(
                ExponentialHistogram,
                data_points=st.lists(exponential_points, max_size=2),
                aggregation_temporality=temporalities,
            ),
            "summary": st.builds(Summary, data_points=st.lists(summary_points, max_size=2)),
        }.items()
    )
)
metrics_data = st.builds(
    MetricsData,
    resource_metrics=st.lists(
        st.builds(
            ResourceMetrics,
            resource=resources,
            schema_url=texts,
            scope_metrics=st.lists(
                st.builds(ScopeMetrics, scope=scopes, schema_url=texts, metrics=st.lists(metrics, max_size=2)),
                max_size=2,
            ),
        ),
        max_size=2,
    ),
)


def to_json(message: Message) -> bytes:
    """The message as OTLP/JSON: protobuf's JSON mapping, but ids in hexadecimal and enums as numbers."""
    return json.dumps(_with_hex_ids(json_format.MessageToDict(message, use_integers_for_enums=True))).encode()


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(each).hex() if key in HEX_IDS else _with_hex_ids(each) for key, each in value.items()}
