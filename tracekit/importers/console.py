"""What the console exporters of OpenTelemetry's SDKs print: Python's spans, metrics and logs, and Go's spans.

They print for people: Python gives times of spans and logs in whole microseconds, and no scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tracekit.importers.otlp_json import (
    any_value,
    attributes,
    double,
    known,
    ns_of_iso,
    number_text,
    object_of,
    objects,
    padded_id,
    traces,
)  # fmt: skip

_KINDS = {name: number for number, name in enumerate(("INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"), 1)}
_STATUS_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_STATE_ENTRY = re.compile(r"\{key=(.*?), value=(.*?)\}")
_SEVERITY = re.compile(r"<SeverityNumber\.\w+: (\d+)>")


def python_span(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`ResourceSpans` of a span as `ConsoleSpanExporter` prints it."""
    resource = object_of(document.get("resource"))
    status = object_of(document.get("status"))
    span = {
        **_context(document.get("context")),
        "parentSpanId": padded_id(document.get("parent_id"), 16),
        "name": document.get("name"),
        "kind": _KINDS.get(str(document.get("kind")).rpartition(".")[2]),
        "startTimeUnixNano": number_text(ns_of_iso(document.get("start_time"))),
        "endTimeUnixNano": number_text(ns_of_iso(document.get("end_time"))),
        "status": known({
            "code": _STATUS_CODES.get(str(status.get("status_code")).rpartition(".")[2].upper()),
            "message": status.get("description"),
        }),
        "attributes": attributes(document.get("attributes")),
        "events": [_python_event(each) for each in objects(document.get("events"))],
        "links": [
            {**_context(each.get("context")), "attributes": attributes(each.get("attributes"))}
            for each in objects(document.get("links"))
        ],
    }  # fmt: skip
    found = traces(attributes(resource.get("attributes", resource)), {}, known(span))
    yield {**found, "schemaUrl": resource.get("schema_url") or ""}


def _context(context: Any) -> dict[str, Any]:
    context = object_of(context)
    state = ",".join(f"{key}={value}" for key, value in _STATE_ENTRY.findall(str(context.get("trace_state", ""))))
    return known({
        "traceId": padded_id(context.get("trace_id"), 32), "spanId": padded_id(context.get("span_id"), 16),
        "traceState": state or None,
    })  # fmt: skip


def _python_event(event: dict[str, Any]) -> dict[str, Any]:
    time_ns = number_text(ns_of_iso(event.get("timestamp")))
    return known({
        "timeUnixNano": time_ns, "name": event.get("name"), "attributes": attributes(event.get("attributes")),
    })  # fmt: skip


def python_log(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`ResourceLogs` of a record as `ConsoleLogRecordExporter` prints it."""
    resource = object_of(document.get("resource"))
    severity = document.get("severity_number")
    match = _SEVERITY.match(severity) if isinstance(severity, str) else None
    record = {
        "timeUnixNano": number_text(ns_of_iso(document.get("timestamp"))),
        "observedTimeUnixNano": number_text(ns_of_iso(document.get("observed_timestamp"))),
        "severityNumber": int(match[1]) if match else severity,
        "severityText": document.get("severity_text"),
        "body": any_value(document.get("body")),
        "attributes": attributes(document.get("attributes")),
        "droppedAttributesCount": document.get("dropped_attributes"),
        "flags": document.get("trace_flags"),
        "traceId": _set_id(document.get("trace_id"), 32),
        "spanId": _set_id(document.get("span_id"), 16),
        "eventName": document.get("event_name"),
    }
    yield {
        "resource": {"attributes": attributes(resource.get("attributes", resource))},
        "scopeLogs": [{"scope": {}, "logRecords": [known(record)]}],
        "schemaUrl": resource.get("schema_url") or "",
    }


def _set_id(value: Any, digits: int) -> Any:
    """An id; all zeros is how a record outside any span is printed."""
    found = padded_id(value, digits)
    return None if found == "0" * digits else found


def python_metrics(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`ResourceMetrics` as `ConsoleMetricExporter` prints them."""
    for resource in objects(document.get("resource_metrics")):
        around = object_of(resource.get("resource"))
        yield {
            "resource": {"attributes": attributes(around.get("attributes"))},
            "schemaUrl": resource.get("schema_url") or "",
            "scopeMetrics": [_scope_metrics(each) for each in objects(resource.get("scope_metrics"))],
        }


def _scope_metrics(scope: dict[str, Any]) -> dict[str, Any]:
    around = object_of(scope.get("scope"))
    told = {"name": around.get("name"), "version": around.get("version")}
    return {
        "scope": {**known(told), "attributes": attributes(around.get("attributes"))},
        "schemaUrl": scope.get("schema_url") or "",
        "metrics": [_metric(each) for each in objects(scope.get("metrics"))],
    }


def _metric(metric: dict[str, Any]) -> dict[str, Any]:
    data = object_of(metric.get("data"))
    points = objects(data.get("data_points"))
    about = {"aggregationTemporality": data.get("aggregation_temporality"), "isMonotonic": data.get("is_monotonic")}
    about = known({**about, "dataPoints": [_point(each) for each in points]})
    told = {name: metric.get(name) for name in ("name", "description", "unit")}
    return {**known(told), _metric_kind(data, points): about}


def _metric_kind(data: dict[str, Any], points: list[dict[str, Any]]) -> str:
    if any("scale" in each for each in points):
        return "exponentialHistogram"
    if any("bucket_counts" in each for each in points):
        return "histogram"
    return "sum" if "is_monotonic" in data else "gauge"


def _point(point: dict[str, Any]) -> dict[str, Any]:
    told = {
        "attributes": attributes(point.get("attributes")),
        "startTimeUnixNano": number_text(point.get("start_time_unix_nano")),
        "timeUnixNano": number_text(point.get("time_unix_nano")),
        "count": number_text(point.get("count")),
        "bucketCounts": _each(point.get("bucket_counts"), number_text),
        "explicitBounds": point.get("explicit_bounds"),
        "scale": point.get("scale"),
        "zeroCount": number_text(point.get("zero_count")),
        "flags": point.get("flags"),
        **{name: _double(point.get(name)) for name in ("sum", "min", "max")},
        **{name: _buckets(point.get(name)) for name in ("positive", "negative")},
        **_number(point.get("value")),
    }
    return known(told)


def _number(value: Any) -> dict[str, Any]:
    if isinstance(value, float):
        return {"asDouble": double(value)}
    return {"asInt": number_text(value)} if value is not None else {}


def _double(value: Any) -> Any:
    return double(value) if isinstance(value, float) else value


def _buckets(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    return known({"offset": value.get("offset"), "bucketCounts": _each(value.get("bucket_counts"), number_text)})


def _each(values: Any, turned: Any) -> Any:
    return [turned(each) for each in values] if isinstance(values, list) else values


def go_span(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`ResourceSpans` of a span as Go's `stdouttrace` prints it."""
    scope = object_of(document.get("InstrumentationScope") or document.get("InstrumentationLibrary"))
    status = object_of(document.get("Status"))
    span = {
        **_go_context(document.get("SpanContext")),
        "parentSpanId": _set_id(object_of(document.get("Parent")).get("SpanID"), 16),
        "name": document.get("Name"),
        "kind": document.get("SpanKind"),
        "startTimeUnixNano": number_text(ns_of_iso(document.get("StartTime"))),
        "endTimeUnixNano": number_text(ns_of_iso(document.get("EndTime"))),
        "status": known({
            "code": _STATUS_CODES.get(str(status.get("Code")).upper()), "message": status.get("Description") or None,
        }),
        "attributes": _go_attributes(document.get("Attributes")),
        "droppedAttributesCount": document.get("DroppedAttributes"),
        "droppedEventsCount": document.get("DroppedEvents"),
        "droppedLinksCount": document.get("DroppedLinks"),
        "events": [_go_event(each) for each in objects(document.get("Events"))],
        "links": [
            {**_go_context(each.get("SpanContext")), "attributes": _go_attributes(each.get("Attributes"))}
            for each in objects(document.get("Links"))
        ],
    }  # fmt: skip
    told = {"name": scope.get("Name"), "version": scope.get("Version")}
    yield traces(_go_attributes(document.get("Resource")), known(told), known(span))


def _go_context(context: Any) -> dict[str, Any]:
    context = object_of(context)
    told = {"traceId": context.get("TraceID"), "spanId": context.get("SpanID")}
    return known({**told, "traceState": context.get("TraceState") or None})


def _go_event(event: dict[str, Any]) -> dict[str, Any]:
    return known({
        "name": event.get("Name"), "timeUnixNano": number_text(ns_of_iso(event.get("Time"))),
        "attributes": _go_attributes(event.get("Attributes")),
        "droppedAttributesCount": event.get("DroppedAttributeCount"),
    })  # fmt: skip


def _go_attributes(values: Any) -> list[dict[str, Any]]:
    return [{"key": each.get("Key"), "value": _go_value(object_of(each.get("Value")))} for each in objects(values)]


def _go_value(typed: dict[str, Any]) -> dict[str, Any]:
    value = typed.get("Value")
    if typed.get("Type") == "FLOAT64" and isinstance(value, int) and not isinstance(value, bool):
        return any_value(float(value))
    return any_value(value)
