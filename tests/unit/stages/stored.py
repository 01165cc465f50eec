"""Spans written down as rows, put into a store without any file in between."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.stages import update_units
from tracekit.store import Database

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
ERROR = 2


@dataclass(frozen=True)
class Span:
    """One span; times in nanoseconds, `parent` 0 for a root."""

    id: int
    start: int
    end: int
    name: str = "work"
    parent: int = 0
    trace: int = 1
    kind: int = INTERNAL
    status: int = 0
    service: str | None = "service"
    host: str | None = None
    scope: str = "test"
    job: str | None = None
    attempt: int | None = None
    rank: int | None = None
    world: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[tuple[str, int], ...] = ()
    waits_for: int = 0
    messages: tuple[tuple[str, int], ...] = ()
    """Exceptions: message and time."""
    exception: dict[str, str] = field(default_factory=dict)
    status_message: str | None = None

    @property
    def resource(self) -> tuple[Any, ...]:
        return (self.service, self.host, self.job, self.attempt, self.rank, self.world)


def store(database: Database, spans: Iterable[Span]) -> None:
    """Store spans as one ingest, the next one."""
    spans = list(spans)
    ingest_id = database.sql("SELECT coalesce(max(ingest_id), 0) + 1 FROM base.spans").item()
    resource_ids = _numbers(database, "resources", {span.resource for span in spans})
    scope_ids = _numbers(database, "scopes", {span.scope for span in spans})
    rows = pl.DataFrame(
        {
            "trace_id": [f"{span.trace:032x}" for span in spans],
            "span_id": [span.id for span in spans],
            "parent_span_id": [span.parent or None for span in spans],
            "start_ns": [span.start for span in spans],
            "end_ns": [span.end for span in spans],
            "name": [span.name for span in spans],
            "kind": [span.kind for span in spans],
            "status_code": [span.status for span in spans],
            "status_message": [span.status_message for span in spans],
            "resource_id": [resource_ids[span.resource] for span in spans],
            "scope_id": [scope_ids[span.scope] for span in spans],
            "attributes": [json.dumps(span.attributes) for span in spans],
        },
        schema_overrides={"span_id": pl.UInt64, "parent_span_id": pl.UInt64, "status_message": pl.String},
    )
    with database.transaction() as cursor:
        cursor.register("rows", rows)
        cursor.execute(
            "INSERT INTO base.spans SELECT trace_id::UUID, span_id, parent_span_id, start_ns, end_ns, name, "
            "kind, status_code, status_message, resource_id, scope_id, attributes::JSON::VARIANT, NULL, 0, 0, 0, 0, "
            "$ingest FROM rows",
            {"ingest": ingest_id},
        )
        cursor.execute(
            "INSERT INTO base.span_attribute_keys SELECT DISTINCT resource_id, unnest(json_keys(attributes)) FROM rows"
        )
        for span in spans:
            trace = f"{span.trace:032x}"
            for index, (name, time_ns) in enumerate(span.events):
                event = [trace, span.id, index, time_ns, name, ingest_id]
                cursor.execute("INSERT INTO base.span_events VALUES (?::UUID, ?, ?, ?, ?, NULL, 0, ?)", event)
            for index, (text, time_ns) in enumerate(span.messages):
                said = json.dumps({"exception.message": text})
                event = [trace, span.id, len(span.events) + index, time_ns, said, ingest_id]
                cursor.execute(
                    "INSERT INTO base.span_events VALUES (?::UUID, ?, ?, ?, 'exception', ?::JSON::VARIANT, 0, ?)", event
                )
            if span.exception:
                row = [trace, span.id, len(span.events), span.end, json.dumps(span.exception), ingest_id]
                cursor.execute(
                    "INSERT INTO base.span_events VALUES (?::UUID, ?, ?, ?, 'exception', ?::JSON::VARIANT, 0, ?)", row
                )
            if span.waits_for:
                link = [trace, span.id, trace, span.waits_for, '{"tracekit.waits_for": true}', ingest_id]
                cursor.execute(
                    "INSERT INTO base.span_links VALUES (?::UUID, ?, 0, ?::UUID, ?, NULL, 0, ?::JSON::VARIANT, 0, ?)",
                    link,
                )


def _numbers(database: Database, table: str, wanted: set[Any]) -> dict[Any, int]:
    """Numbers of resources or scopes, of new ones after storing them."""
    columns = {
        "resources": "resource_id, (service_name, host_name, job_id, attempt, rank, world_size)",
        "scopes": "scope_id, name",
    }[table]
    with database.transaction() as cursor:
        known = {key: number for number, key in cursor.execute(f"SELECT {columns} FROM base.{table}").fetchall()}
        for key in sorted(wanted - known.keys(), key=repr):
            known[key] = len(known) + 1
            if table == "scopes":
                row = [known[key], known[key], key, None, None, 0, None]
            else:
                row = [known[key], known[key], key[0], None, None, *key[1:], None, 0, None, None]
            cursor.execute(f"INSERT INTO base.{table} VALUES ({', '.join('?' * len(row))})", row)
    return known


def read_capture(path: Path) -> list[Span]:
    """The spans of a file of OTLP/JSON lines."""
    return [
        span
        for line in path.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in _spans(_values(resource["resource"]["attributes"]), scope)
    ]


def _spans(resource: dict[str, Any], scope: dict[str, Any]) -> Iterator[Span]:
    for span in scope["spans"]:
        yield Span(
            id=int(span["spanId"], 16),
            start=int(span["startTimeUnixNano"]),
            end=int(span["endTimeUnixNano"]),
            name=span["name"],
            parent=int(span.get("parentSpanId") or "0", 16),
            trace=int(span["traceId"], 16),
            kind=span["kind"],
            status=span.get("status", {}).get("code", 0),
            service=resource.get("service.name"),
            host=resource.get("host.name"),
            scope=scope["scope"]["name"],
            job=resource.get("tracekit.job.id"),
            attempt=resource.get("tracekit.attempt"),
            rank=resource.get("tracekit.rank"),
            world=resource.get("tracekit.world_size"),
            attributes=_values(span.get("attributes", [])),
            events=tuple((event["name"], int(event["timeUnixNano"])) for event in span.get("events", [])),
        )


def _values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    values = {}
    for attribute in attributes:
        [(kind, value)] = attribute["value"].items()
        values[attribute["key"]] = int(value) if kind == "intValue" else value
    return values


def in_trace(spans: Iterable[Span], trace: int) -> list[Span]:
    """The same spans in another trace."""
    return [replace(span, trace=trace) for span in spans]


Times = dict[tuple[str, str, str], int]
"""Exclusive nanoseconds by window, stage and operation."""


def times(database: Database, *, trace: int = 1, rank: int | None = None, step: int | None = None) -> Times:
    """Exclusive times that are not zero, of a request or of one rank's part of a step; makes the units."""
    update_units(database)
    rows = database.sql(
        'SELECT "window", stage, operation, self_ns FROM base.units JOIN base.unit_stages USING (unit_id) '
        "WHERE CASE WHEN $step::BIGINT IS NULL THEN trace_id = $trace::UUID AND kind = 'request' "
        "ELSE step = $step AND rank = $rank END AND self_ns != 0",
        trace=f"{trace:032x}",
        step=step,
        rank=rank,
    )
    return {(window, stage, operation): ns for window, stage, operation, ns in rows.rows()}


def request(database: Database, *, trace: int = 1) -> dict[str, Any]:
    """The request of a trace as a row of the view `units`; units are made if need be."""
    update_units(database)
    rows = database.sql("SELECT * FROM units WHERE kind = 'request' AND trace_id = $trace", trace=f"{trace:032x}")
    return rows.row(0, named=True)


def by_stage(times: Times, window: str) -> dict[str, int]:
    """Exclusive times of one window by stage."""
    totals: dict[str, int] = {}
    for (its_window, stage, _), ns in times.items():
        if its_window == window:
            totals[stage] = totals.get(stage, 0) + ns
    return totals
