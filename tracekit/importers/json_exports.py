"""Traces that other tools write as JSON: recognised by their keys, said in OTLP/JSON, and decoded as that.

So every check of OTLP holds for them too: what is no id, no time or no text is rejected with the field named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tracekit import otlp
from tracekit.importers import clickhouse, console, jaeger, wrapped_otlp, zipkin
from tracekit.otlp import Document, Fault
from tracekit.records import ADVICE, REJECTS, Input, Piece, Reason

MAX_DOCUMENT_BYTES = 96 << 20
"""The largest object that is read: what it takes in memory is some ten times that."""

_HEAD_BYTES = 1 << 16
_OTLP_KEYS = {"resourceSpans", "resourceMetrics", "resourceLogs"}
_OTLP_WITHIN = re.compile(rb'"(?:resourceSpans|batches|scopeSpans|instrumentationLibrarySpans)"')
_JAEGER_WITHIN = re.compile(rb'"traceID"\s*:|"data"\s*:\s*\[\s*\]')
_JAEGER_DATA = re.compile(rb'\{\s*"data"\s*:\s*\[')
_CONSOLE_POINTS = re.compile(rb'"data_points"\s*:')
_TEXT_NOTE = "text that is no JSON stands between the documents; it was passed over"
_MICROSECONDS_NOTE = "times are whole microseconds in this format"

Conversion = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One tool's JSON; `fields` says for a key that its documents have what becomes of them, `note` what the format
    lost."""

    name: str
    conversions: Mapping[str, tuple[str, Conversion]]
    note: str | None = None
    inside: re.Pattern[bytes] | None = None


_JAEGER = _Kind(
    "Jaeger JSON",
    dict.fromkeys(("spans", "spanID"), ("resourceSpans", jaeger.resource_spans)),
    note=_MICROSECONDS_NOTE,
    inside=_JAEGER_DATA,
)
_ZIPKIN = _Kind("Zipkin JSON v2", {"id": ("resourceSpans", zipkin.resource_spans)}, note=_MICROSECONDS_NOTE)
_API_V3 = _Kind("OTLP/JSON in an answer of Jaeger", {"result": ("resourceSpans", wrapped_otlp.resource_spans)})
_TEMPO = _Kind(
    "OTLP/JSON in an answer of Tempo",
    dict.fromkeys(("trace", "batches"), ("resourceSpans", wrapped_otlp.resource_spans)),
)
_PYTHON = _Kind(
    "output of Python's console exporter",
    {
        "resource_metrics": ("resourceMetrics", console.python_metrics),
        "context": ("resourceSpans", console.python_span),
        "severity_number": ("resourceLogs", console.python_log),
    },
    note=_MICROSECONDS_NOTE,
)
_CLICKHOUSE = _Kind(
    "rows of ClickHouse's otel_traces",
    {"SpanId": ("resourceSpans", clickhouse.resource_spans)},
    note=clickhouse.TEXT_NOTE,
)
_GO = _Kind("output of Go's console exporter", {"SpanContext": ("resourceSpans", console.go_span)})


def _kind_of(keys: set[str], text: bytes) -> _Kind | None:
    """The kind of a text that begins with an object of these keys."""
    if keys & _OTLP_KEYS:
        return None
    if keys & {"result", "trace", "batches"} and _OTLP_WITHIN.search(text):
        return _API_V3 if "result" in keys else _TEMPO
    if keys >= {"traceID", "spans"} or keys >= {"traceID", "spanID", "operationName"}:
        return _JAEGER
    if "data" in keys and _JAEGER_WITHIN.search(text):
        return _JAEGER
    if keys >= {"traceId", "id"} and "binaryAnnotations" not in keys:
        return _ZIPKIN
    if keys >= {"name", "context", "start_time"} or keys >= {"body", "severity_number", "trace_id"}:
        return _PYTHON
    if "resource_metrics" in keys and _CONSOLE_POINTS.search(text):
        return _PYTHON
    if keys >= {"Timestamp", "TraceId", "SpanId", "SpanName", "Duration"}:
        return _CLICKHOUSE
    return _GO if keys >= {"SpanContext", "StartTime"} else None


def _recognised(source: Input) -> _Kind | None:
    head = source.peek(_HEAD_BYTES)
    if b"{" not in head:
        return None
    keys, text = otlp.first_keys(head)
    return _kind_of(set(keys), text)


class JsonExport:
    """JSON of tracing tools that is not plain OTLP/JSON; `tracekit.importers.json_exports` names the kinds."""

    name = "JSON of another tool"
    expects = "traces as JSON of Jaeger, Tempo, Zipkin (v2), ClickHouse (otel_traces) or of a console exporter"

    def recognise(self, source: Input) -> bool:
        """Whether the first object has the keys of one of the kinds."""
        return _recognised(source) is not None

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The records, in pieces of about `chunk_bytes`; an object that is no record becomes a reject."""
        kind = _recognised(source)
        assert kind is not None, "asked before"
        found = otlp.json_objects(source, max_document_bytes=MAX_DOCUMENT_BYTES, inside=kind.inside)
        gathered = _Gathered(kind)
        for each in found:
            gathered.add(each)
            if gathered.size_bytes >= chunk_bytes:
                yield gathered.piece()
                gathered = _Gathered(kind, is_first=False)
        if gathered.documents or gathered.faults:
            yield gathered.piece()


class _Gathered:
    """Documents on their way into a piece."""

    def __init__(self, kind: _Kind, *, is_first: bool = True) -> None:
        self.documents: list[Document] = []
        self.faults: list[dict[str, Any]] = []
        self.size_bytes = 0
        self._kind = kind
        if is_first and kind.note is not None:
            self._fault("note", Reason.ASSUMED, 0, kind.note)

    def add(self, found: Document | Fault) -> None:
        """Takes a document, said in OTLP/JSON, or what is none."""
        if isinstance(found, Fault):
            is_text = found.reason is Reason.PARTIAL_FIRST_LINE
            reason, example = (Reason.ASSUMED, _TEXT_NOTE) if is_text else (found.reason, ADVICE[found.reason])
            self._fault("note" if is_text else "rejected", reason, found.offset, example)
            return
        self.size_bytes += len(found.payload)
        try:
            text = json.dumps(self._converted(json.loads(bytes(found.payload))), separators=(",", ":"))
        except RecursionError:
            self._fault("rejected", Reason.NESTED_TOO_DEEP, found.offset, ADVICE[Reason.NESTED_TOO_DEEP])
        except (ValueError, OverflowError) as error:
            self._fault("rejected", Reason.MALFORMED, found.offset, f"the object cannot be read: {str(error)[:120]}")
        else:
            self.documents.append(Document(text.encode(), found.offset, is_frame=True))

    def piece(self) -> Piece:
        """What was gathered, decoded."""
        batch = otlp.decode(self.documents, encoding="json")
        return Piece(batch, self._kind.name, pa.Table.from_pylist(self.faults, schema=REJECTS))

    def _converted(self, document: dict[str, Any]) -> dict[str, Any]:
        for key, (field, conversion) in self._kind.conversions.items():
            if key in document:
                return {field: list(conversion(document))}
        # The decoder says of it that nothing is known in it.
        return {"none": sorted(document)[:1]}

    def _fault(self, kind: str, reason: Reason, offset: int, example: str) -> None:
        self.faults.append({
            "signal": None, "kind": kind, "reason": reason.word, "count": 1, "document_row": None, "offset": offset,
            "example": example,
        })  # fmt: skip
