"""What the Python SDK recorded, and the same as the store shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from tracekit.store import Database

RESOURCE = Resource({"service.name": "sender", "host.name": "node-1", "replicas": 3, "weights": [0.5, 1.5]})
SPANS = """
    SELECT trace_id, span_id, parent_span_id, name, kind, start_ns, end_ns, status_code, status_message,
        span_attributes::JSON::VARCHAR AS attributes, resource_attributes::JSON::VARCHAR AS resource,
        scope_name, scope_version, trace_state, flags, dropped_attributes_count
    FROM spans
    WHERE service_name = 'sender'
"""
EVENTS = """
    SELECT span_id, event_index, time_ns, name, attributes::JSON::VARCHAR AS attributes
    FROM span_events
    ORDER BY ALL
"""
LINKS = """
    SELECT span_id, link_index, linked_trace_id, linked_span_id, trace_state, flags,
        attributes::JSON::VARCHAR AS attributes
    FROM span_links
    ORDER BY ALL
"""
# Bit 8 says that it is known whether the parent (or the linked span) was in another process, bit 9 that
# it was.
# The SDK's exporters send neither the other flags nor a link's trace state.
_IS_REMOTE_KNOWN, _IS_REMOTE = 0x100, 0x200

Row: TypeAlias = dict[str, Any]


class Keeping(SpanExporter):
    """Keeps the spans as the SDK hands them to any exporter."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep them."""
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


def record(provider: TracerProvider) -> None:
    """Spans of every shape: nested, of each kind, with events, links, errors, and values of each type."""
    tracer = provider.get_tracer("interop", "1.2.3", attributes={"scope": "x"})
    far = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("a", "b")]))
    for kind in SpanKind:
        with tracer.start_as_current_span(
            f"outer {kind.name} ü", kind=kind, links=[Link(far, {"why": "retry"})]
        ) as outer:
            outer.set_attributes({"text": 'ü\n"', "flag": True, "whole": 2**53 + 1, "part": 0.1, "many": ["a", "b"]})
            outer.add_event("first token", {"index": 0}, timestamp=1_700_000_000_123_456_789)
            with tracer.start_as_current_span("inner") as inner:
                inner.set_status(Status(StatusCode.ERROR, "it broke"))


def span_rows(spans: Sequence[ReadableSpan]) -> list[Row]:
    """The spans as rows of `SPANS`, in the order of their ids, attributes as Python values."""
    rows = [
        {
            "trace_id": f"{span.context.trace_id:032x}",
            "span_id": f"{span.context.span_id:016x}",
            "parent_span_id": f"{span.parent.span_id:016x}" if span.parent else None,
            "name": span.name,
            "kind": span.kind.name,
            "start_ns": span.start_time,
            "end_ns": span.end_time,
            "status_code": span.status.status_code.name,
            "status_message": span.status.description,
            "attributes": plain(span.attributes),
            "resource": plain(RESOURCE.attributes),
            "scope_name": "interop",
            "scope_version": "1.2.3",
            "trace_state": None,
            "flags": _IS_REMOTE_KNOWN,
            "dropped_attributes_count": 0,
        }
        for span in spans
    ]
    return sorted(rows, key=itemgetter("span_id"))


def event_rows(spans: Sequence[ReadableSpan]) -> list[Row]:
    """The events as rows of `EVENTS`."""
    rows = [
        {
            "span_id": f"{span.context.span_id:016x}",
            "event_index": index,
            "time_ns": event.timestamp,
            "name": event.name,
            "attributes": plain(event.attributes),
        }
        for span in spans
        for index, event in enumerate(span.events)
    ]
    return sorted(rows, key=itemgetter("span_id", "event_index"))


def link_rows(spans: Sequence[ReadableSpan]) -> list[Row]:
    """The links as rows of `LINKS`."""
    rows = [
        {
            "span_id": f"{span.context.span_id:016x}",
            "link_index": index,
            "linked_trace_id": f"{link.context.trace_id:032x}",
            "linked_span_id": f"{link.context.span_id:016x}",
            "trace_state": None,
            "flags": _IS_REMOTE_KNOWN | _IS_REMOTE,
            "attributes": plain(link.attributes),
        }
        for span in spans
        for index, link in enumerate(span.links)
    ]
    return sorted(rows, key=itemgetter("span_id", "link_index"))


def plain(attributes: Mapping[str, object] | None) -> dict[str, Any] | None:
    """Attributes as JSON would hold them; None for no attributes."""
    return json.loads(json.dumps(dict(attributes or {}))) or None


def stored(database: Database, statement: str) -> list[Row]:
    """Rows of one of the statements above, JSON text as Python values."""
    rows = database.sql(statement).to_dicts()
    for row in rows:
        row |= {key: json.loads(row[key]) for key in ("attributes", "resource") if row.get(key)}
    return sorted(rows, key=itemgetter("span_id")) if statement is SPANS else rows


def assert_all_stored(database: Database, spans: Sequence[ReadableSpan]) -> None:
    """Every field of every span, event and link is in the store as it was sent, and nothing else is."""
    assert len(spans) == 2 * len(SpanKind)
    assert stored(database, SPANS) == span_rows(spans)
    assert stored(database, EVENTS) == event_rows(spans)
    assert stored(database, LINKS) == link_rows(spans)
