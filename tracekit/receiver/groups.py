"""One group of requests: decoded together, written in one transaction, judged one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracekit.otlp import Document, Encoding, Signal, decode
from tracekit.otlp.batch import Batch
from tracekit.receiver.export import Export
from tracekit.receiver.outcome import Outcome
from tracekit.receiver.verdicts import accepted, holds_no_record, invalid, rejects_by_request, undecodable
from tracekit.store import Database, IngestWriter, PreparedBatch, Reject, WriteCounts, clustered, prepared
from tracekit.store.writing import decoder_rejects


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group: an outcome for each request, and the counts of each batch with its signal."""

    outcomes: list[Outcome]
    counts: list[tuple[Signal, WriteCounts]]


@dataclass(frozen=True, slots=True)
class _Part:
    """The requests of a group that are decoded together, as one signal in one encoding."""

    signal: Signal
    exports: list[Export]
    batch: PreparedBatch
    refused: dict[int, list[Reject]]
    """Faults of the exports that are not in the batch, by position in `exports`."""

    @property
    def kept(self) -> list[int]:
        """Positions of the exports whose documents are in the batch."""
        return [row for row in range(len(self.exports)) if row not in self.refused]

    @property
    def refused_rejects(self) -> list[Reject]:
        """The same faults for the record of the ingest; they belong to no document of the batch."""
        return [replace(each, document_row=None) for faults in self.refused.values() for each in faults]


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """The requests of a group, decoded; needs no store."""

    exports: Sequence[Export]
    parts: list[_Part]


def read_group(group: Sequence[Export]) -> ReadGroup:
    """Decode the requests of a group, those of one signal and encoding together."""
    return ReadGroup(group, _parts(group))


def write_group(database: Database, read: ReadGroup) -> Written:
    """Store the requests of a group in one transaction; what is not stored is told to its sender and counted.

    Raises `StoreError` when nothing could be written.
    """
    writer = IngestWriter(database, source="otlp receiver", format=_format(read.exports))
    written = writer.write_all([(part.batch, part.refused_rejects) for part in read.parts])
    outcomes: dict[int, Outcome] = {}
    for part, counts in zip(read.parts, written, strict=True):
        outcomes |= _outcomes(part, counts)
    by_signal = [(part.signal, each) for part, each in zip(read.parts, written, strict=True)]
    return Written([outcomes[id(export)] for export in read.exports], by_signal)


def _parts(group: Sequence[Export]) -> list[_Part]:
    exports: dict[tuple[Signal, Encoding], list[Export]] = defaultdict(list)
    for export in group:
        exports[export.signal, export.encoding].append(export)
    return [_part(signal, encoding, alike) for (signal, encoding), alike in exports.items()]


def _part(signal: Signal, encoding: Encoding, exports: list[Export]) -> _Part:
    batch = _decoded(signal, encoding, exports)
    faults = rejects_by_request(decoder_rejects(batch.rejects))
    refused = {row: rejects for row, rejects in faults.items() if undecodable(rejects)}
    if refused:
        batch = _decoded(signal, encoding, [each for row, each in enumerate(exports) if row not in refused])
    return _Part(signal, exports, prepared([clustered(batch)]), refused)


def _decoded(signal: Signal, encoding: Encoding, exports: Sequence[Export]) -> Batch:
    return decode([Document(export.payload) for export in exports], encoding=encoding, signal=signal)


def _outcomes(part: _Part, counts: WriteCounts) -> dict[int, Outcome]:
    """The answer of each request of a part, by the identity of the request."""
    rejects = rejects_by_request(counts.rejects)
    answers: dict[int, Outcome] = {id(part.exports[row]): invalid(faults) for row, faults in part.refused.items()}
    for document_row, row in enumerate(part.kept):
        export, faults = part.exports[row], rejects.get(document_row, [])
        is_empty = bool(faults) and holds_no_record(export)
        answers[id(export)] = invalid(faults) if is_empty else accepted(faults)
    return answers


def _format(group: Sequence[Export]) -> str:
    return ", ".join(sorted({f"{export.transport} {export.encoding}" for export in group}))
