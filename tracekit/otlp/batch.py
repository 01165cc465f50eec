"""OTLP documents to Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.otlp.attributes import Source
from tracekit.otlp.containers import RECORDS_OF, RESOURCES, SCOPES, containers
from tracekit.otlp.doubles import faults_and_doubles, number_texts
from tracekit.otlp.exemplars import EXEMPLARS
from tracekit.otlp.fields import NAMES, PLAN, SIGNALS, Signal
from tracekit.otlp.logs import LOGS, log_tables
from tracekit.otlp.metrics import METRIC_STREAMS, metric_tables
from tracekit.otlp.pivot import pivot
from tracekit.otlp.point_values import METRIC_HISTOGRAMS, METRIC_POINTS, METRIC_SUMMARIES
from tracekit.otlp.reading import Reading
from tracekit.otlp.reasons import Reason
from tracekit.otlp.rejects import REJECTS, RejectLog
from tracekit.otlp.span_children import SPAN_EVENTS, SPAN_LINKS
from tracekit.otlp.traces import SPAN_KEYS, SPANS, trace_tables
from tracekit.otlp.walk import Encoding, Walk, walk

SCHEMAS: dict[str, pa.Schema] = {
    "resources": RESOURCES,
    "scopes": SCOPES,
    "spans": SPANS,
    "span_keys": SPAN_KEYS,
    "span_events": SPAN_EVENTS,
    "span_links": SPAN_LINKS,
    "metric_streams": METRIC_STREAMS,
    "metric_points": METRIC_POINTS,
    "metric_histograms": METRIC_HISTOGRAMS,
    "metric_summaries": METRIC_SUMMARIES,
    "exemplars": EXEMPLARS,
    "logs": LOGS,
    "rejects": REJECTS,
}
"""Columns of each table of a `Batch`."""

MAX_DOCUMENT_BYTES = 1 << 30
"""The most that `decode` takes of one document: a tape counts its entries in 31 bits."""

_UNITS = ["Span", "Metric", "LogRecord"]
_TABLES_OF: dict[Signal, Callable[..., dict[str, pa.Table]]] = {
    "traces": trace_tables,
    "metrics": metric_tables,
    "logs": log_tables,
}
_EMPTY = {name: schema.empty_table() for name, schema in SCHEMAS.items()}


@dataclass(frozen=True)
class Document:
    """One OTLP message, already unframed and decompressed."""

    payload: bytes | memoryview
    offset: int = 0
    """Byte offset of the message in its source, for reports."""
    is_frame: bool = False
    """Whether the payload was compressed on its own, so that only `offset` can be found again in the
    source.
    """


@dataclass(frozen=True)
class Batch:
    """Everything that one call to `decode` read, as Arrow tables; their columns are in `SCHEMAS`.

    A column whose name ends in `_row` counts the rows of another table from 0, `document_row` those of the
    documents.
    """

    resources: pa.Table
    scopes: pa.Table
    spans: pa.Table
    span_keys: pa.Table
    span_events: pa.Table
    span_links: pa.Table
    metric_streams: pa.Table
    metric_points: pa.Table
    metric_histograms: pa.Table
    metric_summaries: pa.Table
    exemplars: pa.Table
    logs: pa.Table
    rejects: pa.Table


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
    reading = _reading(walked, log)
    _note_document_faults(walked, log)
    _note_loose_faults(reading, log)
    tables = _tables(reading)
    return Batch(**tables, rejects=log.table())


def _tables(reading: Reading) -> dict[str, pa.Table]:
    """All tables but `rejects`: those of each signal that is there, resources and scopes one behind the
    other.
    """
    found: dict[str, list[pa.Table]] = {name: [] for name in SCHEMAS if name != "rejects"}
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
    return {name: pa.concat_tables(parts) if parts else _EMPTY[name] for name, parts in found.items()}


def _reading(walked: Walk, log: RejectLog) -> Reading:
    faults, doubles = faults_and_doubles(walked.tape, walked.entry_count)
    texts = number_texts(walked.tape, doubles)
    return Reading(
        source=Source(PLAN, walked.tape, walked.buffer, texts),
        rows=pivot(walked.tape, walked.entry_count, walked.row_counts),
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
    tape = reading.source.tape
    reasons, codes = tape["aux"][loose] >> 16, tape["aux"][loose] & 0xFFFF
    signals = [_signal_of(int(code)) for code in codes]
    for reason, signal in sorted(set(zip(reasons.tolist(), signals, strict=True)), key=str):
        chosen = (reasons == reason) & np.array([each == signal for each in signals], np.bool_)
        positions = tape["value"][loose[chosen]]
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
