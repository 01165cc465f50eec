"""Rows of the table `otel_traces` that the Collector's ClickHouse exporter fills, as ClickHouse writes JSON lines.

    SELECT * FROM otel_traces WHERE Timestamp >= '2026-12-01' FORMAT JSONEachRow

The table keeps attributes as `Map(String, String)`: numbers, truth values and lists come back as text. Flags, counts of
what was dropped, attributes of scopes and schema URLs are not in it. Times without a zone are taken for UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tracekit.importers.otlp_json import attributes, known, ns_of_iso, number_text, object_of, objects, traces

TEXT_NOTE = "attributes are text in this table, whatever type they had when they were sent"
_KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUS_CODES = {"OK": 1, "ERROR": 2}
_PREFIX = re.compile(r"(?:SPAN_KIND|STATUS_CODE)_")
_SECONDS = re.compile(r"(\d{1,11})(?:\.(\d{1,9}))?\Z")


def resource_spans(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The span of a row, below the service that sent it."""
    service = row.get("ServiceName")
    sender = ({"service.name": service} if service else {}) | object_of(row.get("ResourceAttributes"))
    scope = known({"name": row.get("ScopeName") or None, "version": row.get("ScopeVersion") or None})
    yield traces(attributes(sender), scope, _span(row))


def _span(row: dict[str, Any]) -> dict[str, Any]:
    start_ns, duration_ns = _ns(row.get("Timestamp")), _whole(row.get("Duration"))
    is_timed = isinstance(start_ns, int) and isinstance(duration_ns, int)
    return known({
        "traceId": row.get("TraceId"),
        "spanId": row.get("SpanId"),
        "parentSpanId": row.get("ParentSpanId") or None,
        "traceState": row.get("TraceState") or None,
        "name": row.get("SpanName"),
        "kind": _code(row.get("SpanKind"), _KINDS),
        "startTimeUnixNano": number_text(start_ns),
        "endTimeUnixNano": number_text(start_ns + duration_ns) if is_timed else duration_ns,
        "status": _status(row),
        "attributes": attributes(row.get("SpanAttributes")),
        "events": [_event(each) for each in _nested(row, "Events")],
        "links": [_link(each) for each in _nested(row, "Links")],
    })  # fmt: skip


def _nested(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The entries of a nested column, which is a list of objects, or a list for each of their fields."""
    if name in row:
        return objects(row[name])
    lists = {key.removeprefix(f"{name}."): value for key, value in row.items() if key.startswith(f"{name}.")}
    columns = {key: value for key, value in lists.items() if isinstance(value, list)}
    count = max(map(len, columns.values()), default=0)
    return [{key: value[place] for key, value in columns.items() if place < len(value)} for place in range(count)]


def _event(event: dict[str, Any]) -> dict[str, Any]:
    time_ns = number_text(_ns(event.get("Timestamp")))
    return known(
        {"timeUnixNano": time_ns, "name": event.get("Name"), "attributes": attributes(event.get("Attributes"))}
    )


def _link(link: dict[str, Any]) -> dict[str, Any]:
    ids = {"traceId": link.get("TraceId"), "spanId": link.get("SpanId"), "traceState": link.get("TraceState") or None}
    return known(ids | {"attributes": attributes(link.get("Attributes"))})


def _status(row: dict[str, Any]) -> dict[str, Any] | None:
    code = _code(row.get("StatusCode"), _STATUS_CODES)
    return known({"code": code, "message": row.get("StatusMessage") or None}) or None


def _code(value: Any, codes: dict[str, int]) -> int | None:
    return codes.get(_PREFIX.sub("", value.upper())) if isinstance(value, str) else None


def _ns(value: Any) -> Any:
    """Nanoseconds of a time as ClickHouse writes it: a date with a time, or seconds since the epoch."""
    match = _SECONDS.match(value) if isinstance(value, str) else None
    return ns_of_iso(value) if match is None else int(match[1]) * 10**9 + int((match[2] or "").ljust(9, "0"))


def _whole(value: Any) -> Any:
    """A whole number, which ClickHouse writes with or without quotes."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20 else value
