"""Jaeger's own JSON: what its UI and `/api/traces` give out, and the documents it keeps in Elasticsearch.

Fields that OpenTelemetry has of its own (kind, status, scope, trace state) are taken from the tags that stand for them;
every other tag stays an attribute. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.importers.otlp_json import (
    any_value,
    attribute,
    known,
    ns_of_us,
    number_text,
    object_of,
    objects,
    padded_id,
    traces,
)  # fmt: skip

_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_STATUS_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_SCOPE_NAMES, _SCOPE_VERSIONS = ((f"otel.scope.{field}", f"otel.library.{field}") for field in ("name", "version"))
_VALUE_OF_TYPE = {"string": "stringValue", "bool": "boolValue", "int64": "intValue", "float64": "doubleValue",
                  "binary": "bytesValue"}  # fmt: skip
_TRUTHS = {"true": True, "false": False}

Tags = dict[str, dict[str, Any]]


def resource_spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans of a trace, or of a document that is one span, each below its process."""
    processes = object_of(document.get("processes"))
    spans = [document] if "spans" not in document else objects(document["spans"])
    for span in spans:
        process = object_of(span.get("process") or processes.get(str(span.get("processID"))))
        yield _resource_spans(span, process, str(document.get("traceID") or ""))


def _resource_spans(span: dict[str, Any], process: dict[str, Any], trace_id: str) -> dict[str, Any]:
    resource = _tags(process.get("tags"))
    if "hostname" in resource and "host.name" not in resource:
        resource["host.name"] = resource["hostname"]
    if process.get("serviceName") is not None:
        resource["service.name"] = any_value(process["serviceName"])
    tags = _tags(span.get("tags"))
    scope = {"name": _taken_text(tags, *_SCOPE_NAMES), "version": _taken_text(tags, *_SCOPE_VERSIONS)}
    return traces(_attributes(resource), known(scope), _span(span, tags, trace_id))


def _span(span: dict[str, Any], tags: Tags, trace_id: str) -> dict[str, Any]:
    own_trace = padded_id(span.get("traceID", trace_id), 32)
    references = objects(span.get("references"))
    parent = _parent(references, own_trace)
    start_ns, duration_ns = ns_of_us(span.get("startTime")), ns_of_us(span.get("duration"))
    is_timed = isinstance(start_ns, int) and isinstance(duration_ns, int)
    warnings = [attribute("jaeger.warnings", span["warnings"])] if span.get("warnings") else []
    return known({
        "traceId": own_trace,
        "spanId": padded_id(span.get("spanID"), 16),
        "parentSpanId": padded_id(parent.get("spanID", span.get("parentSpanID") or None), 16),
        "traceState": _taken_text(tags, "w3c.tracestate"),
        "flags": span.get("flags"),
        "name": span.get("operationName"),
        "kind": _kind(tags),
        "startTimeUnixNano": number_text(start_ns),
        "endTimeUnixNano": number_text(start_ns + duration_ns) if is_timed else None,
        "status": _status(tags),
        "attributes": _attributes(tags) + warnings,
        "events": [_event(each) for each in objects(span.get("logs"))],
        "links": [_link(each) for each in references if each is not parent],
    })  # fmt: skip


def _parent(references: list[dict[str, Any]], trace_id: str) -> dict[str, Any]:
    """The reference to the parent: the first CHILD_OF in the trace, else the first FOLLOWS_FROM."""
    inside = [each for each in references if padded_id(each.get("traceID"), 32) == trace_id]
    inside.sort(key=lambda each: each.get("refType") != "CHILD_OF")
    return inside[0] if inside else {}


def _link(reference: dict[str, Any]) -> dict[str, Any]:
    kind = str(reference.get("refType", "")).lower()
    return known({
        "traceId": padded_id(reference.get("traceID"), 32), "spanId": padded_id(reference.get("spanID"), 16),
        "attributes": [attribute("opentracing.ref_type", kind)] if kind else None,
    })  # fmt: skip


def _event(log: dict[str, Any]) -> dict[str, Any]:
    fields = _tags(log.get("fields"))
    name = _taken_text(fields, "event") or ""
    return known({
        "timeUnixNano": number_text(ns_of_us(log.get("timestamp"))), "name": name, "attributes": _attributes(fields),
    })  # fmt: skip


def _kind(tags: Tags) -> int | None:
    kind = _KINDS.get(_text(tags, "span.kind").lower())
    if kind is not None:
        del tags["span.kind"]
    return kind


def _status(tags: Tags) -> dict[str, Any] | None:
    code = _STATUS_CODES.get(_text(tags, "otel.status_code").upper())
    if code is not None:
        del tags["otel.status_code"]
    is_error = "error" in tags and True in (tags["error"].get("boolValue"), _TRUTHS.get(_text(tags, "error").lower()))
    if is_error and code in (None, 2):
        del tags["error"]
        code = 2
    message = _taken_text(tags, "otel.status_description") if code is not None else None
    return known({"code": code, "message": message}) or None


def _tags(values: Any) -> Tags:
    """Typed tags by key; of a key that comes twice the last one counts, as in Jaeger."""
    return {str(each.get("key", "")): _typed(each.get("type"), each.get("value")) for each in objects(values)}


def _typed(kind: Any, value: Any) -> dict[str, Any]:
    if kind == "bool" and isinstance(value, str):
        value = _TRUTHS.get(value.lower(), value)
    name = _VALUE_OF_TYPE.get(str(kind).lower())
    fits = name is not None and not isinstance(value, list | dict) and value is not None
    if name == "stringValue" or not fits:
        return any_value(value)
    return {str(name): number_text(value)} if name == "intValue" else {str(name): value}


def _attributes(tags: Tags) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in tags.items()]


def _text(tags: Tags, key: str) -> str:
    return str(tags.get(key, {}).get("stringValue", ""))


def _taken_text(tags: Tags, *keys: str) -> str | None:
    """The text of the first of these tags that is there, which is no attribute then."""
    for key in keys:
        if "stringValue" in tags.get(key, {}):
            return str(tags.pop(key)["stringValue"])
    return None
