"""OTLP, the OpenTelemetry protocol, to records.

`framing` cuts files into documents, `wire` reads protobuf and JSON into events, `tables` makes records of these, and
`rejects` says what was set aside. `decode` is all of it for documents that are in memory, `documents` and the formats
of `FORMATS` for files. The decoder is loaded when one of its names is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracekit.otlp.document import Document, Encoding, Fault
from tracekit.records import REJECTS, SCHEMAS, SIGNALS, Batch, Signal

if TYPE_CHECKING:
    from tracekit.otlp.decoding import decode
    from tracekit.otlp.framing import FORMATS, Chunk, Window, documents, first_keys, json_objects, open_window

_LATER = {
    "decode": "tracekit.otlp.decoding",
    "FORMATS": "tracekit.otlp.framing",
    "Chunk": "tracekit.otlp.framing",
    "Window": "tracekit.otlp.framing",
    "documents": "tracekit.otlp.framing",
    "first_keys": "tracekit.otlp.framing",
    "json_objects": "tracekit.otlp.framing",
    "open_window": "tracekit.otlp.framing",
}

__all__ = [
    "FORMATS",
    "REJECTS",
    "SCHEMAS",
    "SIGNALS",
    "Batch",
    "Chunk",
    "Document",
    "Encoding",
    "Fault",
    "Signal",
    "Window",
    "decode",
    "documents",
    "first_keys",
    "json_objects",
    "open_window",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
