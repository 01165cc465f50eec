"""Traces of requests written down as a few words a span, received as OTLP/JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

INTERNAL, SERVER, CLIENT = 1, 2, 3
ERROR = 2
S = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000 * S


@dataclass(frozen=True)
class Seen:
    """One span; times in nanoseconds since EPOCH_NS, `parent` 0 for a root, `links` are numbers of other traces."""

    id: int
    start: int
    end: int
    name: str
    parent: int = 0
    trace: int = 1
    kind: int = INTERNAL
    status: int = 0
    message: str = ""
    service: str = "gateway"
    host: str = "gateway-0"
    attributes: dict[str, Any] = field(default_factory=dict)
    exception: tuple[str, str] | None = None
    first_token: int | None = None
    links: tuple[int, ...] = ()


def root(end: int, http: int, **more: Any) -> Seen:
    """The span of a chat request at the gateway."""
    attributes = {"http.request.method": "POST", "url.path": "/v1/chat/completions", "http.response.status_code": http}
    status = ERROR if http >= 500 else 0
    values = {"id": 1, "start": 0, "kind": SERVER, "status": status, **more}
    return Seen(end=end, name="POST /v1/chat/completions", attributes=attributes | more.pop("attributes", {}), **values)


def call(number: int, start: int, end: int, **more: Any) -> Seen:
    """The gateway's call to a model."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"} | more.pop("attributes", {})
    values = {"parent": 1, "kind": CLIENT, **more}
    return Seen(number, start, end, "chat m", attributes=attributes, **values)


def receive(database: Database, folder: Path, spans: Iterable[Seen]) -> Database:
    """Ingest the spans as a file and make their units."""
    path = folder / "received.jsonl"
    path.write_text("".join(json.dumps(_document(span)) + "\n" for span in spans), encoding="utf-8")
    assert ingest(database, [path]).is_complete
    update_units(database)
    return database


def _document(span: Seen) -> dict[str, Any]:
    resource = {"attributes": _attributes({"service.name": span.service, "host.name": span.host})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "test"}, "spans": [_span(span)]}]}]
    }


def _span(span: Seen) -> dict[str, Any]:
    events = []
    if span.exception is not None:
        told = {"exception.type": span.exception[0], "exception.message": span.exception[1]}
        events.append({"name": "exception", "timeUnixNano": str(EPOCH_NS + span.end), "attributes": _attributes(told)})
    if span.first_token is not None:
        events.append({"name": "first_token", "timeUnixNano": str(EPOCH_NS + span.first_token)})
    return {
        "traceId": f"{span.trace:032x}",
        "spanId": f"{span.trace * 1000 + span.id:016x}",
        **({"parentSpanId": f"{span.trace * 1000 + span.parent:016x}"} if span.parent else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(EPOCH_NS + span.start),
        "endTimeUnixNano": str(EPOCH_NS + span.end),
        "attributes": _attributes(span.attributes),
        "events": events,
        "links": [{"traceId": f"{other:032x}", "spanId": f"{other * 1000 + 1:016x}"} for other in span.links],
        "status": {"code": span.status, **({"message": span.message} if span.message else {})},
    }


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
