"""Emission through opentelemetry-sdk: spans with explicit times and ids, metric data, the real exporters."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from opentelemetry.exporter.otlp.json.file import FileMetricExporter, FileSpanExporter
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import IdGenerator, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from generators.errors import ExportError
from generators.logs import export_logs
from generators.metrics import Series
from generators.spans import Column, Emission, Optional, SpanGroup

BATCH_SPANS = 512
"""Spans per export, the SDK's own default of a batch."""

_KINDS = (SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class GivenIds(IdGenerator):
    """Hands out the ids that the model has drawn, so that a run is the same to the byte."""

    def __init__(self) -> None:
        self.trace_id = 0
        self.span_id = 0

    def generate_trace_id(self) -> int:
        """The trace id of the span that is being started."""
        return self.trace_id

    def generate_span_id(self) -> int:
        """The span id of the span that is being started."""
        return self.span_id


class OrderedBatches(SpanProcessor):
    """Exports a process's spans in batches of a fixed size, in order, without a thread or a clock."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._waiting: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Keep the span; export when a batch is full."""
        self._waiting.append(span)
        if len(self._waiting) >= BATCH_SPANS:
            self.force_flush()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Export what waits. Raises `ExportError` where the exporter fails."""
        if self._waiting and self._exporter.export(self._waiting) is not SpanExportResult.SUCCESS:
            raise ExportError("the spans could not be delivered; is the endpoint up, or the disk full?")
        self._waiting = []
        return True


def export_files(emission: Emission, folder: Path) -> None:
    """Write `traces.jsonl`, `metrics.jsonl` and, where there are any, `logs.jsonl` (OTLP/JSON lines) into a folder."""
    with (folder / "traces.jsonl").open("w", encoding="utf-8") as stream:
        export_spans(emission, FileSpanExporter(stream=stream))
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as stream:
        export_metrics(emission, FileMetricExporter(stream=stream))
    if emission.logs:
        with (folder / "logs.jsonl").open("w", encoding="utf-8") as stream:
            export_logs(emission, FileLogExporter(stream=stream))


def export_endpoint(emission: Emission, endpoint: str) -> None:
    """Send everything to an OTLP/HTTP endpoint (its base URL, for example http://localhost:4318).

    Raises `ExportError` where the exporter is not installed or the endpoint does not take the data.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise ExportError("sending to an endpoint needs the package opentelemetry-exporter-otlp-proto-http") from error
    base = endpoint.rstrip("/")
    export_spans(emission, OTLPSpanExporter(endpoint=f"{base}/v1/traces"))
    export_metrics(emission, OTLPMetricExporter(endpoint=f"{base}/v1/metrics"))
    if emission.logs:
        export_logs(emission, OTLPLogExporter(endpoint=f"{base}/v1/logs"))


def export_spans(emission: Emission, exporter: SpanExporter) -> None:
    """Start and end every span through the SDK, in the order in which real processes would export them."""
    ids = GivenIds()
    providers = [_provider(resource, exporter, ids) for resource in emission.resources]
    rows_of = [_rows(emission, group) for group in emission.groups]
    tracers: dict[tuple[int, str], Tracer] = {}
    group_numbers, rows = emission.in_export_order()
    with _without_garbage_collection():
        for number, row in zip(group_numbers.tolist(), rows.tolist(), strict=True):
            group = emission.groups[number]
            resource = int(group.resource[row])
            tracer = tracers.get((resource, group.scope))
            if tracer is None:
                tracer = tracers[resource, group.scope] = providers[resource].get_tracer(group.scope)
            rows_of[number](tracer, ids, row)
        for provider in providers:
            provider.force_flush()
    exporter.shutdown()


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Spans form no cycles, and looking for some in millions of them takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _provider(resource: Mapping[str, Any], exporter: SpanExporter, ids: GivenIds) -> TracerProvider:
    provider = TracerProvider(resource=Resource(dict(resource)), id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(OrderedBatches(exporter))
    return provider


def _rows(emission: Emission, group: SpanGroup) -> Callable[[Tracer, GivenIds, int], None]:
    """A function that starts and ends the span in one row of a group."""
    high, low = emission.trace_high[group.trace].tolist(), emission.trace_low[group.trace].tolist()
    span_ids, parents = group.span_id.tolist(), group.parent_id.tolist()
    starts, ends = group.start_ns.tolist(), group.end_ns.tolist()
    names = group.name.tolist() if isinstance(group.name, np.ndarray) else [group.name] * len(group)
    statuses = None if group.status is None else group.status.tolist()
    attributes, kind = _attribute_reader(group.attributes), _KINDS[group.kind - 1]
    events = [(event, _attribute_reader(event.attributes)) for event in group.events]
    links = _link_reader(emission, group)

    def emit(tracer: Tracer, ids: GivenIds, row: int) -> None:
        """Start and end the span in this row."""
        ids.trace_id, ids.span_id = high[row] << 64 | low[row], span_ids[row]
        context = None
        if parents[row]:
            parent = SpanContext(ids.trace_id, parents[row], group.is_parent_remote, _SAMPLED)
            context = set_span_in_context(NonRecordingSpan(parent))
        span = tracer.start_span(names[row], context, kind, attributes(row), links(row), starts[row])
        for event, read in events:
            if event.present[row]:
                span.add_event(event.name, read(row), int(event.time_ns[row]))
        if statuses is not None and statuses[row]:
            span.set_status(StatusCode(statuses[row]))
        span.end(ends[row])

    return emit


def _link_reader(emission: Emission, group: SpanGroup) -> Callable[[int], list[Link]]:
    """A function from a row to its links, in the group's order."""
    readers = [(link, _attribute_reader(link.attributes)) for link in group.links]

    def read(row: int) -> list[Link]:
        """Links of this row."""
        found = []
        for link, attributes in readers:
            if link.present[row]:
                trace = int((group.trace if link.trace is None else link.trace)[row])
                trace_id = int(emission.trace_high[trace]) << 64 | int(emission.trace_low[trace])
                context = SpanContext(trace_id, int(link.span_id[row]), False, _SAMPLED)
                found.append(Link(context, attributes(row)))
        return found

    return read


def _attribute_reader(table: Mapping[str, Column | Optional]) -> Callable[[int], dict[str, Any]]:
    """A function from a row to its attributes as plain Python values, in the table's order."""
    constants, columns = {}, []
    for key, column in table.items():
        if isinstance(column, Optional):
            columns.append((key, column.values.tolist(), column.present.tolist()))
        elif isinstance(column, np.ndarray):
            columns.append((key, column.tolist(), None))
        else:
            constants[key] = column
    order = list(table)

    def read(row: int) -> dict[str, Any]:
        """Attributes of this row."""
        found = dict(constants)
        for key, values, present in columns:
            if present is None or present[row]:
                found[key] = values[row]
        return {key: found[key] for key in order if key in found}

    return read


def export_metrics(emission: Emission, exporter: MetricExporter) -> None:
    """Export one `MetricsData` for each resource and reading time, in order of time."""
    for data in _metrics_data(emission):
        if exporter.export(data) is not MetricExportResult.SUCCESS:
            raise ExportError("the metrics could not be delivered; is the endpoint up, or the disk full?")
    with contextlib.suppress(AttributeError):
        exporter.shutdown()


def _metrics_data(emission: Emission) -> Iterator[MetricsData]:
    resources = [Resource(dict(resource)) for resource in emission.resources]
    points: dict[tuple[int, int], list[tuple[Series, int]]] = {}
    for series in emission.series:
        for position, time_ns in enumerate(series.time_ns.tolist()):
            points.setdefault((time_ns, series.resource), []).append((series, position))
    for (time_ns, resource), read in sorted(points.items(), key=lambda item: item[0]):
        yield MetricsData([ResourceMetrics(resources[resource], _scopes(read, time_ns), "")])


def _scopes(read: list[tuple[Series, int]], time_ns: int) -> list[ScopeMetrics]:
    """The readings of one resource at one time, by scope and metric name."""
    by_metric: dict[tuple[str, str], list[tuple[Series, int]]] = {}
    for series, position in read:
        by_metric.setdefault((series.scope, series.name), []).append((series, position))
    scopes: dict[str, list[Metric]] = {}
    for (scope, _), readings in by_metric.items():
        scopes.setdefault(scope, []).append(_metric(readings, time_ns))
    return [ScopeMetrics(InstrumentationScope(scope), metrics, "") for scope, metrics in scopes.items()]


def _metric(readings: list[tuple[Series, int]], time_ns: int) -> Metric:
    first = readings[0][0]
    points: list[Any] = [_point(series, position, time_ns) for series, position in readings]
    if first.kind == "gauge":
        data: Any = Gauge(points)
    elif first.kind == "sum":
        data = Sum(points, AggregationTemporality.CUMULATIVE, True)
    elif first.kind == "exponential_histogram":
        data = ExponentialHistogram(points, AggregationTemporality.CUMULATIVE)
    else:
        data = Histogram(points, AggregationTemporality.CUMULATIVE)
    return Metric(first.name, first.description, first.unit, data)


def _point(
    series: Series, position: int, time_ns: int
) -> NumberDataPoint | HistogramDataPoint | ExponentialHistogramDataPoint:
    attributes, value = dict(series.attributes), series.values[position].item()
    if series.bucket_counts is None or series.extremes is None:
        return NumberDataPoint(attributes, 0 if series.kind == "gauge" else series.start_ns, time_ns, value)
    buckets, (low, high) = series.bucket_counts[position].tolist(), series.extremes[position].tolist()
    if series.zero_counts is not None:
        zeros, positive = int(series.zero_counts[position]), Buckets(series.offset, buckets)
        return ExponentialHistogramDataPoint(
            attributes, series.start_ns, time_ns, sum(buckets) + zeros, value, series.scale, zeros, positive,
            Buckets(0, []), 0, low, high,
        )  # fmt: skip
    return HistogramDataPoint(
        attributes, series.start_ns, time_ns, sum(buckets), value, buckets, list(series.bounds), low, high
    )
