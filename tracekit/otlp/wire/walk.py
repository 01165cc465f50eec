"""Documents to events: puts them into one buffer and lets the walker of their encoding run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.kernels.unaligned import SPARE
from tracekit.otlp.document import Encoding
from tracekit.otlp.wire.events import new_events, new_stack
from tracekit.otlp.wire.fields import PLAN, RECORDS
from tracekit.otlp.wire.json_walker import walk_json
from tracekit.otlp.wire.protobuf import walk_protobuf
from tracekit.records import SIGNALS, Signal

_BYTES_PER_ENTRY: dict[Encoding, int] = {"protobuf": 6, "json": 12}
_SPARE_ENTRIES = 64


@dataclass(frozen=True)
class Walk:
    """The events of some documents."""

    buffer: np.ndarray
    bounds: np.ndarray
    """First byte of each document in the buffer, and the end of the last."""
    events: np.ndarray
    entry_count: int
    row_counts: np.ndarray
    """`[record type]`: number of rows."""
    signals: np.ndarray
    """`[document]`: number of its signal in `SIGNALS`, -1 for JSON that may hold several."""
    faults: np.ndarray
    """`[document]`: reason why it could not be read to its end, 0 if it could."""
    positions: np.ndarray
    """`[document]`: byte of that fault."""
    mistyped: np.ndarray
    """`[document]`: known fields of the wrong wire type, which were skipped."""
    most_events: int
    """The most events there ever were: what a fault left unfinished was taken back."""


def walk(payloads: Sequence[bytes | memoryview], *, encoding: Encoding, signal: Signal | None) -> Walk:
    """Walks the documents; `signal` none means by trial for protobuf and any for JSON."""
    bounds = np.cumsum([0, *(len(payload) for payload in payloads)], dtype=np.int64)
    buffer = _buffer(payloads, int(bounds[-1]), encoding)
    entry_count = int(bounds[-1]) // _BYTES_PER_ENTRY[encoding] + _SPARE_ENTRIES
    while True:
        walked, needed = _walk_once(buffer, bounds, entry_count, encoding, signal)
        if needed <= len(walked.events):
            break
        entry_count = needed
    return walked


def _buffer(payloads: Sequence[bytes | memoryview], size: int, encoding: Encoding) -> np.ndarray:
    """The documents one behind the other, with spare bytes.

    For JSON with as much room again for unescaped text; what is not needed of it takes up no memory.
    """
    room = size + SPARE if encoding == "json" else 0
    buffer = np.empty(size + SPARE + room, np.uint8)
    view, at = memoryview(buffer), 0
    for payload in payloads:
        view[at : at + len(payload)] = payload
        at += len(payload)
    buffer[size : size + SPARE] = 0
    return buffer


def _walk_once(
    buffer: np.ndarray, bounds: np.ndarray, entry_count: int, encoding: Encoding, signal: Signal | None
) -> tuple[Walk, int]:
    """A walk, which is good if there is room for the number of entries that is given back."""
    events, rows = new_events(entry_count), np.zeros(len(RECORDS) + 1, np.int64)
    document_count = len(bounds) - 1
    signals = np.full(document_count, -1 if signal is None else SIGNALS.index(signal), np.int64)
    faults, positions = np.zeros(document_count, np.int64), np.zeros(document_count, np.int64)
    mistyped = np.zeros(document_count, np.int64)
    common = (PLAN, events, new_stack(), rows, buffer, bounds, signals, faults, positions)
    count = walk_json(*common) if encoding == "json" else walk_protobuf(*common, mistyped)
    needed = int(rows[-1])
    return Walk(buffer, bounds, events, count, rows[:-1], signals, faults, positions, mistyped, needed), needed
