"""OTLP documents to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tracekit.otlp.document import Document, Encoding
from tracekit.otlp.rejects import RejectLog
from tracekit.otlp.tables import (
    RECORDS_OF,
    Reading,
    Source,
    containers,
    faults_and_doubles,
    json_doubles,
    log_tables,
    metric_tables,
    number_texts,
    pivot,
    trace_tables,
)  # fmt: skip
from tracekit.otlp.wire import NAMES, PLAN, Walk, walk
from tracekit.records import SCHEMAS, SIGNALS, Batch, Reason, Signal, documents_at, empty_table

MAX_DOCUMENT_BYTES = 1 << 30
"""The most that `decode` takes of one document: events are counted in 31 bits."""

_UNITS = ["Span", "Metric", "LogRecord"]
_TABLES_OF: dict[Signal, Callable[..., dict[str, pa.Table]]] = {
    "traces": trace_tables,
    "metrics": metric_tables,
    "logs": log_tables,
}


def decode(
    documents: Sequence[Document], *, encoding: Encoding, signal: Signal | None = None,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
) -> Batch:  # fmt: skip
    """Reads OTLP documents: `TracesData`, `MetricsData`, `LogsData` or the export requests, which look the
    same.

    `signal` is what the documents must hold; `None` finds it out, for protobuf by trial. Nothing is raised
    for bad data: what could not be stored is in `Batch.rejects`, everything else in the other tables.
    """
    is_too_large = np.array([len(document.payload) > max_document_bytes for document in documents], np.bool_)
    payloads = [b"" if large else each.payload for each, large in zip(documents, is_too_large, strict=True)]
    walked = walk(payloads, encoding=encoding, signal=signal)
    walked.faults[is_too_large] = Reason.TOO_LARGE
    log = RejectLog(
        bounds=walked.bounds,
        offsets=np.array([document.offset for document in documents], np.int64),
        is_frame=np.array([document.is_frame for document in documents], np.bool_),
    )
    reading = _reading(walked, log, encoding)
    _note_document_faults(walked, log)
    _note_loose_faults(reading, log)
    tables = _tables(reading)
    return Batch(**tables, documents=documents_at(log.offsets), rejects=log.table())


def _tables(reading: Reading) -> dict[str, pa.Table]:
    """All tables of records: those of each signal that is there, resources and scopes one behind the
    other.
    """
    found: dict[str, list[pa.Table]] = {name: [] for name in SCHEMAS if name not in ("documents", "rejects")}
    first_resource = first_scope = 0
    for signal, signal_tables in _TABLES_OF.items():
        if reading.rows.length(RECORDS_OF[signal][0]) == 0:
            continue
        around = containers(reading, signal)
        tables = signal_tables(reading, around, first_resource=first_resource, first_scope=first_scope)
        for name, table in {**tables, "resources": around.resources, "scopes": around.scopes}.items():
            found[name].append(table)
        first_resource += len(around.resources)
        first_scope += len(around.scopes)
    return {name: pa.concat_tables(parts) if parts else empty_table(name) for name, parts in found.items()}


def _reading(walked: Walk, log: RejectLog, encoding: Encoding) -> Reading:
    if encoding == "json":
        json_doubles(walked.events, walked.entry_count, walked.buffer)
    faults, doubles = faults_and_doubles(walked.events, walked.entry_count)
    texts = number_texts(walked.events, doubles)
    return Reading(
        source=Source(PLAN, walked.events, walked.buffer, texts),
        rows=pivot(walked.events, walked.entry_count, walked.row_counts),
        log=log,
        entry_count=walked.entry_count,
        faults=faults,
    )


def _note_document_faults(walked: Walk, log: RejectLog) -> None:
    for document in np.flatnonzero(walked.faults):
        signal = walked.signals[document]
        log.add(
            SIGNALS[signal] if signal >= 0 else None, Reason(walked.faults[document]), kind="rejected",
            documents=np.array([document]), positions=walked.positions[document : document + 1],
        )  # fmt: skip


def _note_loose_faults(reading: Reading, log: RejectLog) -> None:
    """Notes the walker's faults that lie in no span, metric or log record, but in a resource, a scope or
    outside.
    """
    loose = reading.loose_faults(_UNITS)
    events = reading.source.events
    reasons, codes = events["aux"][loose] >> 16, events["aux"][loose] & 0xFFFF
    signals = [_signal_of(int(code)) for code in codes]
    for reason, signal in sorted(set(zip(reasons.tolist(), signals, strict=True)), key=str):
        chosen = (reasons == reason) & np.array([each == signal for each in signals], np.bool_)
        positions = events["value"][loose[chosen]]
        log.add(
            signal, Reason(reason), kind="rejected", positions=positions, codes=codes[chosen],
            documents=np.searchsorted(log.bounds, positions, side="right") - 1,
        )  # fmt: skip


def _signal_of(code: int) -> Signal | None:
    """The signal of a field outside the records; none for a field that all signals share."""
    owner = NAMES[code].split(".", maxsplit=1)[0]
    by_owner = (signal for signal, names in RECORDS_OF.items() if owner in names)
    number = int(PLAN.fields["signal"][code])
    return SIGNALS[number] if number >= 0 else next(by_owner, None)
