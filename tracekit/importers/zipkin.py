"""Zipkin's JSON v2: spans of `/api/v2/spans` and `/api/v2/traces`. Times are microseconds; tags are text.

The endpoints become `network.*` and `peer.service`; a span that shares its id with its client keeps it, and says so in
`zipkin.shared`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.importers.otlp_json import (
    attribute,
    attributes,
    known,
    ns_of_us,
    number_text,
    object_of,
    objects,
    padded_id,
    traces,
)  # fmt: skip

_KINDS = {"SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUS_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_SCOPE_KEYS = {"name": ("otel.scope.name", "otel.library.name"), "version": ("otel.scope.version",
               "otel.library.version")}  # fmt: skip


def resource_spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The span, below the service that sent it."""
    tags = dict(object_of(document.get("tags")))
    scope = {field: next((tags.pop(key) for key in keys if key in tags), None) for field, keys in _SCOPE_KEYS.items()}
    local = object_of(document.get("localEndpoint"))
    service = [attribute("service.name", local["serviceName"])] if local.get("serviceName") else []
    yield traces(service, known(scope), _span(document, tags, local))


def _span(span: dict[str, Any], tags: dict[str, Any], local: dict[str, Any]) -> dict[str, Any]:
    start_ns, duration_ns = ns_of_us(span.get("timestamp")), ns_of_us(span.get("duration"))
    is_timed = isinstance(start_ns, int) and isinstance(duration_ns, int)
    status = _status(tags)
    told = {**tags, **_endpoints(local, object_of(span.get("remoteEndpoint")))}
    told |= {f"zipkin.{flag}": True for flag in ("shared", "debug") if span.get(flag) is True}
    return known({
        "traceId": padded_id(span.get("traceId"), 32),
        "spanId": padded_id(span.get("id"), 16),
        "parentSpanId": padded_id(span.get("parentId"), 16),
        "name": span.get("name"),
        "kind": _KINDS.get(str(span.get("kind", "")).upper()),
        "startTimeUnixNano": number_text(start_ns),
        "endTimeUnixNano": number_text(start_ns + duration_ns) if is_timed else None,
        "status": status,
        "attributes": attributes(told),
        "events": [_event(each) for each in objects(span.get("annotations"))],
    })  # fmt: skip


def _event(annotation: dict[str, Any]) -> dict[str, Any]:
    time_ns = number_text(ns_of_us(annotation.get("timestamp")))
    return known({"timeUnixNano": time_ns, "name": annotation.get("value")})


def _endpoints(local: dict[str, Any], remote: dict[str, Any]) -> dict[str, Any]:
    told = {"peer.service": remote.get("serviceName")}
    for side, endpoint in (("local", local), ("peer", remote)):
        told[f"network.{side}.address"] = endpoint.get("ipv4") or endpoint.get("ipv6")
        told[f"network.{side}.port"] = endpoint.get("port")
    return {key: value for key, value in told.items() if value}


def _status(tags: dict[str, Any]) -> dict[str, Any] | None:
    """The status that tags say; `error` with any text is an error, and its text the message."""
    code = _STATUS_CODES.get(str(tags.get("otel.status_code", "")).upper())
    if code is not None:
        del tags["otel.status_code"]
    message = tags.pop("otel.status_description", None)
    if "error" in tags and code in (None, 2) and str(tags["error"]).lower() != "false":
        text = tags.pop("error")
        code, message = 2, message or (text if str(text).lower() not in ("", "true") else None)
    return known({"code": code, "message": message}) or None
