"""Traces as query services give them out: OTLP/JSON inside an envelope, often with ids in base64 and names of enums.

Jaeger's api_v3 answers `{"result": {"resourceSpans": …}}`, Tempo `{"trace": {"resourceSpans": …}}` (v2) or
`{"batches": …}` (v1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.importers.otlp_json import hex_id, object_of, objects

ENVELOPES = ("result", "trace", "batches")
_KINDS = {
    f"SPAN_KIND_{name}": number
    for number, name in enumerate(("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"))
}
_STATUS_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_ID_DIGITS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def resource_spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The resources of an answer, their spans as OTLP/JSON writes them."""
    inside = next((document[name] for name in ENVELOPES[:2] if isinstance(document.get(name), dict)), document)
    for name in ("resourceSpans", "batches"):
        for resource in objects(inside.get(name)):
            for scope in objects(resource.get("scopeSpans")) + objects(resource.get("instrumentationLibrarySpans")):
                for span in objects(scope.get("spans")):
                    _put_right(span)
            yield resource


def _put_right(span: dict[str, Any]) -> None:
    for each in (span, *objects(span.get("links"))):
        each |= {name: hex_id(each[name], digits) for name, digits in _ID_DIGITS.items() if name in each}
    _number(span, "kind", _KINDS)
    _number(object_of(span.get("status")), "code", _STATUS_CODES)


def _number(fields: dict[str, Any], name: str, numbers: dict[str, int]) -> None:
    if isinstance(fields.get(name), str):
        fields[name] = numbers.get(fields[name], fields[name])
