"""The Python SDK's exporters, configured by nothing but the endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonSpanExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter

from tests.interop.sent import RESOURCE, Keeping, assert_all_stored, record
from tracekit.receiver import Receiver


def http_url(receiver: Receiver, signal: str = "traces") -> str:
    return f"http://127.0.0.1:{receiver.ports.http_port}/v1/{signal}"


def grpc_url(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.ports.grpc_port}"


SPAN_EXPORTERS: dict[str, Callable[[Receiver], SpanExporter]] = {
    "grpc": lambda receiver: GrpcSpanExporter(endpoint=grpc_url(receiver), insecure=True),
    "http protobuf": lambda receiver: HttpSpanExporter(endpoint=http_url(receiver)),
    "http protobuf gzip": lambda receiver: HttpSpanExporter(endpoint=http_url(receiver), compression=Compression.Gzip),
    "http protobuf deflate": lambda receiver: HttpSpanExporter(
        endpoint=http_url(receiver), compression=Compression.Deflate
    ),
    "http json": lambda receiver: JsonSpanExporter(endpoint=http_url(receiver)),
}


@pytest.mark.parametrize("name", SPAN_EXPORTERS)
def test_every_field_of_every_span_arrives(receiver: Receiver, name: str) -> None:
    """What the SDK recorded equals what the store shows, field by field."""
    keeping = Keeping()
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(keeping))
    provider.add_span_processor(BatchSpanProcessor(SPAN_EXPORTERS[name](receiver)))
    record(provider)
    provider.shutdown()
    assert_all_stored(receiver.store.database, keeping.spans)


@pytest.mark.parametrize(
    "exporter",
    [
        lambda receiver: GrpcMetricExporter(endpoint=grpc_url(receiver), insecure=True),
        lambda receiver: HttpMetricExporter(endpoint=http_url(receiver, "metrics")),
    ],
    ids=["grpc", "http protobuf"],
)
def test_metrics_arrive(receiver: Receiver, exporter: Callable[[Receiver], MetricExporter]) -> None:
    """A counter, a gauge and a histogram with their values, attributes and temporality."""
    reader = PeriodicExportingMetricReader(exporter(receiver), export_interval_millis=1e9)
    provider = MeterProvider([reader], resource=RESOURCE)
    meter = provider.get_meter("interop")
    meter.create_counter("served", unit="{request}").add(2**53 + 1, {"model": "a"})
    meter.create_gauge("load").set(0.1)
    meter.create_histogram("wait", unit="s", explicit_bucket_boundaries_advisory=[1.0, 2.0]).record(1.5)
    provider.shutdown()
    database = receiver.store.database
    points = database.sql(
        """
        SELECT name, unit, kind, temporality, is_monotonic, attributes::JSON::VARCHAR AS attributes,
            value_int, value_double
        FROM metric_points
        INNER JOIN metric_streams USING (stream_id)
        ORDER BY name
        """
    ).rows()
    assert [(*row[:5], json.loads(row[5] or "null"), *row[6:]) for row in points] == [
        ("load", None, "gauge", None, None, None, None, 0.1),
        ("served", "{request}", "sum", "CUMULATIVE", True, {"model": "a"}, 2**53 + 1, None),
    ]
    histogram = database.sql("SELECT count, sum, min, max, explicit_bounds, bucket_counts FROM metric_histograms")
    assert histogram.rows() == [(1, 1.5, 1.5, 1.5, [1.0, 2.0], [0, 1, 0])]


def test_logs_arrive(receiver: Receiver) -> None:
    """A record with severity, body and attributes; the SDK's log API may change, so only its exporter is
    used."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    provider = LoggerProvider(resource=RESOURCE)
    provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=http_url(receiver, "logs"))))
    provider.get_logger("interop").emit(
        LogRecord(
            timestamp=5,
            severity_number=SeverityNumber.WARN,
            severity_text="WARN",
            body="hello",
            attributes={"a": 1},
        )
    )
    provider.shutdown()
    columns = "time_ns, severity_number, severity_text, body::JSON::VARCHAR, log_attributes::JSON::VARCHAR"
    rows = receiver.store.database.sql(f"SELECT {columns} FROM logs").rows()
    assert rows == [(5, 13, "WARN", '"hello"', '{"a":1}')]
