"""OTLP records and documents in the words of a test, and the batch that the decoder makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tracekit.otlp import Batch, Document, decode

Record = dict[str, Any]


def attributes(values: Record) -> list[Record]:
    """Attributes in OTLP/JSON: text, truth values, integers and floating-point numbers."""
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in values.items()]


def span(
    trace: int,
    number: int,
    *,
    start: int = 1,
    end: int = 2,
    name: str = "work",
    **fields: Any,
) -> Record:
    """Span `number` of trace `trace`; `fields` are further OTLP/JSON fields."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        **fields,
    }


def traces(*spans: Record, service: str = "shop", **resource: Any) -> Record:
    """A document with spans of one service."""
    sender = {"attributes": attributes({"service.name": service} | resource)}
    return {"resourceSpans": [{"resource": sender, "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]}


def metrics(*metric_list: Record, service: str = "shop") -> Record:
    """A document with metrics of one service."""
    sender = {"attributes": attributes({"service.name": service})}
    return {"resourceMetrics": [{"resource": sender, "scopeMetrics": [{"metrics": metric_list}]}]}


def gauge(name: str, *points: Record) -> Record:
    """A gauge with points."""
    return {"name": name, "unit": "1", "gauge": {"dataPoints": points}}


def point(time: int, value: float, **values: Any) -> Record:
    """A point at a time; `values` are its attributes."""
    known = {"asInt": str(value)} if isinstance(value, int) else {"asDouble": value}
    return {"timeUnixNano": str(time), "attributes": attributes(values)} | known


def logs(*records: Record, service: str = "shop") -> Record:
    """A document with log records of one service."""
    sender = {"attributes": attributes({"service.name": service})}
    return {"resourceLogs": [{"resource": sender, "scopeLogs": [{"logRecords": records}]}]}


def batch(*documents: Record) -> Batch:
    """The documents, decoded together."""
    return decode([Document(json.dumps(document).encode()) for document in documents], encoding="json")


def json_lines(documents: Iterable[Record]) -> bytes:
    """The documents as a file of OTLP/JSON lines."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)
