"""Export requests, built with the official classes."""

from __future__ import annotations

import itertools
import secrets

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

START_NS = 1_700_000_000_000_000_000
_numbers = itertools.count(1)


def attribute(key: str, value: str) -> KeyValue:
    """One attribute with a string."""
    return KeyValue(key=key, value=AnyValue(string_value=value))


def traces(
    count: int = 1, *, bad: int = 0, trace_id: bytes | None = None, value: str = "x", start_ns: int = START_NS
) -> bytes:
    """A request of `count` good spans with random ids, and `bad` ones whose span id has four bytes."""
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    resource_spans.resource.attributes.append(attribute("service.name", "tests"))
    spans = resource_spans.scope_spans.add().spans
    for number in range(count + bad):
        spans.add(
            trace_id=trace_id or secrets.token_bytes(16),
            span_id=secrets.token_bytes(8 if number < count else 4),
            name=f"span {number}",
            kind=2,
            start_time_unix_nano=start_ns,
            end_time_unix_nano=start_ns + 1000,
            attributes=[attribute("key", value)],
        )
    return message.SerializeToString()


def metrics(count: int = 1, *, bad: int = 0) -> bytes:
    """A request of `count` good gauge points, and `bad` ones at time 0."""
    message = ExportMetricsServiceRequest()
    scope_metrics = message.resource_metrics.add().scope_metrics.add()
    points = scope_metrics.metrics.add(name=f"gauge.{next(_numbers)}", unit="1").gauge.data_points
    for number in range(count + bad):
        points.add(time_unix_nano=START_NS + number if number < count else 0, as_int=number)
    return message.SerializeToString()


def logs(count: int = 1, *, bad: int = 0, with_ids: bool = False) -> bytes:
    """A request of `count` good log records, and `bad` ones at a time that no store can hold."""
    message = ExportLogsServiceRequest()
    records = message.resource_logs.add().scope_logs.add().log_records
    for number in range(count + bad):
        record = records.add(
            time_unix_nano=START_NS + next(_numbers),
            severity_number=9,
            severity_text="INFO",
            body=AnyValue(string_value="hello"),
        )
        if with_ids:
            record.trace_id, record.span_id = secrets.token_bytes(16), secrets.token_bytes(8)
        if number >= count:
            record.time_unix_nano = 2**64 - 1
    return message.SerializeToString()


EXPORTS = {"traces": traces, "metrics": metrics, "logs": logs}
