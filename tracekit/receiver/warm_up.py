"""One export of everything into a store of its own, so that no sender waits for something to be compiled."""

from __future__ import annotations

import base64
import gc
import tempfile
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tracekit.otlp import Encoding, Signal
from tracekit.receiver.export import Export
from tracekit.receiver.groups import read_group, write_group
from tracekit.store import Database

_ROW_GROUP_ROWS = 2048
_ID, _SPAN_ID = bytes([7] * 16), bytes([7] * 8)


def warm_up() -> None:
    """Decode and store one request of each signal in each encoding; the first time after installation
    takes long. What is in memory then stays: the garbage collector need not look at it again."""
    # As the real one is served, so that what is compiled is what will be called.
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-") as folder,
        Database.serve(Path(folder) / "warm-up.duckdb", row_group_rows=_ROW_GROUP_ROWS) as database,
    ):
        for (signal, encoding), payload in samples().items():
            write_group(database, read_group([Export(signal, encoding, payload, "self")]))
    gc.collect()
    gc.freeze()


def samples() -> dict[tuple[Signal, Encoding], bytes]:
    """A request of each signal in each encoding that has a value of every kind."""
    messages: dict[Signal, Message] = {"traces": _traces(), "metrics": _metrics(), "logs": _logs()}
    found: dict[tuple[Signal, Encoding], bytes] = {}
    for signal, message in messages.items():
        found[signal, "protobuf"] = message.SerializeToString()
        found[signal, "json"] = _otlp_json(message)
    return found


def _otlp_json(message: Message) -> bytes:
    """The message as OTLP/JSON, whose ids are hexadecimal where protobuf's JSON has base64."""
    text = json_format.MessageToJson(message)
    for identity in (_ID, _SPAN_ID):
        text = text.replace(base64.b64encode(identity).decode(), identity.hex())
    return text.encode()


def _attributes() -> list[KeyValue]:
    inner = KeyValue(key="inner", value=AnyValue(string_value="text"))
    list_value, map_value = AnyValue(), AnyValue()
    list_value.array_value.values.append(inner.value)
    map_value.kvlist_value.values.append(inner)
    values = [
        AnyValue(string_value="text"),
        AnyValue(int_value=1),
        AnyValue(double_value=0.5),
        AnyValue(bool_value=True),
        AnyValue(bytes_value=b"bytes"),
        AnyValue(),
        list_value,
        map_value,
    ]
    return [KeyValue(key=f"key.{number}", value=value) for number, value in enumerate(values)]


def _traces() -> Message:
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.extend(_attributes())
    span = resource_spans.scope_spans.add().spans.add(
        trace_id=_ID,
        span_id=_SPAN_ID,
        name="warm-up",
        start_time_unix_nano=1,
        end_time_unix_nano=2,
        attributes=_attributes(),
    )
    span.events.add(time_unix_nano=1, name="event", attributes=_attributes())
    span.links.add(trace_id=_ID, span_id=_SPAN_ID, attributes=_attributes())
    return request


def _metrics() -> Message:
    request = ExportMetricsServiceRequest()
    metrics = request.resource_metrics.add().scope_metrics.add().metrics
    metrics.add(name="gauge").gauge.data_points.add(time_unix_nano=1, as_double=0.5, attributes=_attributes())
    metrics.add(name="sum").sum.data_points.add(time_unix_nano=1, as_int=1)
    point = metrics.add(name="histogram").histogram.data_points.add(
        time_unix_nano=1, count=1, sum=1.0, bucket_counts=[1, 0], explicit_bounds=[1.0]
    )
    point.exemplars.add(time_unix_nano=1, as_double=1.0)
    exponential = metrics.add(name="exponential").exponential_histogram.data_points.add(time_unix_nano=1, count=1)
    exponential.positive.bucket_counts.append(1)
    summary = metrics.add(name="summary").summary.data_points.add(time_unix_nano=1, count=1)
    summary.quantile_values.add(quantile=0.5, value=1.0)
    return request


def _logs() -> Message:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add(
        time_unix_nano=1, body=AnyValue(string_value="warm-up"), attributes=_attributes()
    )
    return request
