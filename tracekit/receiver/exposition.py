"""The receiver's counters for others: Prometheus text, and OpenTelemetry metrics for its own store."""

from __future__ import annotations

import time
from collections.abc import Iterator

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2

from tracekit.receiver.counters import COMMIT_BOUNDS_S, CommitTimes, Counters, Labels, Series

PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COMMIT_NAME = "tracekit.receiver.commit.duration"
_COMMIT_DESCRIPTION = "Time from taking a group of requests to its commit"
_CUMULATIVE = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE


def prometheus_text(counters: Counters) -> str:
    """All counters in Prometheus' text format; names as OpenTelemetry's, with `_` for dots."""
    lines = [line for series in counters.series() for line in _series_lines(series)]
    return "\n".join([*lines, *_histogram_lines(counters.commit_times())]) + "\n"


def _series_lines(series: Series) -> Iterator[str]:
    is_sum = series.kind == "sum"
    name = _prometheus_name(series.name) + ("_total" if is_sum else "")
    yield f"# HELP {name} {series.description} ({series.unit})"
    yield f"# TYPE {name} {'counter' if is_sum else 'gauge'}"
    for labels, value in sorted(series.values.items()):
        yield f"{name}{_label_text(labels)} {value}"


def _histogram_lines(times: CommitTimes) -> Iterator[str]:
    name = _prometheus_name(_COMMIT_NAME) + "_seconds"
    yield f"# HELP {name} {_COMMIT_DESCRIPTION}"
    yield f"# TYPE {name} histogram"
    total = 0
    for bound, count in zip([*COMMIT_BOUNDS_S, "+Inf"], times.counts, strict=True):
        total += count
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {times.sum_s}"
    yield f"{name}_count {total}"


def _prometheus_name(name: str) -> str:
    return name.replace(".", "_")


def _label_text(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""


def metrics_request(counters: Counters, *, started_ns: int) -> bytes:
    """All counters as an OTLP export request, cumulative since `started_ns`."""
    request = ExportMetricsServiceRequest()
    resource_metrics = request.resource_metrics.add()
    resource_metrics.resource.attributes.append(_attribute("service.name", "tracekit"))
    scope_metrics = resource_metrics.scope_metrics.add()
    scope_metrics.scope.name = "tracekit.receiver"
    now_ns = time.time_ns()
    for series in counters.series():
        _add_series(scope_metrics.metrics.add(), series, started_ns=started_ns, now_ns=now_ns)
    _add_commits(scope_metrics.metrics.add(), counters.commit_times(), started_ns=started_ns, now_ns=now_ns)
    return request.SerializeToString()


def _add_series(metric: metrics_pb2.Metric, series: Series, *, started_ns: int, now_ns: int) -> None:
    metric.name, metric.description, metric.unit = series.name, series.description, series.unit
    if series.kind == "sum":
        metric.sum.is_monotonic = True
        metric.sum.aggregation_temporality = _CUMULATIVE
    points = metric.sum.data_points if series.kind == "sum" else metric.gauge.data_points
    for labels, value in sorted(series.values.items()):
        point = points.add(time_unix_nano=now_ns, as_int=value)
        if series.kind == "sum":
            point.start_time_unix_nano = started_ns
        point.attributes.extend(_attribute(name, text) for name, text in labels)


def _add_commits(metric: metrics_pb2.Metric, times: CommitTimes, *, started_ns: int, now_ns: int) -> None:
    metric.name, metric.description, metric.unit = _COMMIT_NAME, _COMMIT_DESCRIPTION, "s"
    metric.histogram.aggregation_temporality = _CUMULATIVE
    metric.histogram.data_points.add(
        start_time_unix_nano=started_ns,
        time_unix_nano=now_ns,
        count=times.count,
        sum=times.sum_s,
        bucket_counts=times.counts,
        explicit_bounds=COMMIT_BOUNDS_S,
    )


def _attribute(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))
