"""Small OTLP/JSON documents, written out."""

from __future__ import annotations

import json
from typing import Any

from tracekit.otlp import Batch, Document, decode

Json = dict[str, Any]
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


def span(**fields: object) -> Json:
    """A sound span, with some fields replaced, added or (with None) absent."""
    sound = {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "step",
        "startTimeUnixNano": "1000",
        "endTimeUnixNano": "2000",
    }
    return {name: value for name, value in {**sound, **fields}.items() if value is not None}


def traces(*spans: Json, **resource: object) -> bytes:
    """A document of spans under one resource and scope."""
    return json.dumps(
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    ).encode()


def metrics(*metrics: Json) -> bytes:
    """A document of metrics under one resource and scope."""
    return json.dumps(
        {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"scope": {}, "metrics": metrics}]}]}
    ).encode()


def logs(*records: Json) -> bytes:
    """A document of log records under one resource and scope."""
    return json.dumps(
        {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}
    ).encode()


def attribute(key: str, **value: object) -> Json:
    """An attribute, for example `attribute("tokens", intValue="42")`."""
    return {"key": key, "value": value}


def read(*payloads: bytes, signal: str | None = None) -> Batch:
    """Decodes JSON documents that stand one behind the other from byte 0 on."""
    offsets = [sum(len(each) for each in payloads[:place]) for place in range(len(payloads))]
    documents = [Document(payload, offset) for payload, offset in zip(payloads, offsets, strict=True)]
    return decode(documents, encoding="json", signal=signal)


def reasons(batch: Batch) -> list[tuple[str, str, int]]:
    """Kind, reason and count of each line of the reject report."""
    return [(each["kind"], each["reason"], each["count"]) for each in batch.rejects.to_pylist()]


def names(batch: Batch) -> list[str]:
    """Names of the spans that are kept."""
    return batch.spans["name"].to_pylist()
