"""One group of requests: decoded together, written in one transaction, judged one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tracekit.otlp import Batch, Document, Encoding, Signal, decode
from tracekit.receiver.export import Export
from tracekit.receiver.outcome import Outcome
from tracekit.receiver.verdicts import accepted, holds_no_record, invalid, rejects_by_request, undecodable
from tracekit.store import (
    Database,
    IngestWriter,
    Reject,
    SortedBatch,
    WriteCounts,
    decoder_rejects,
    merge_batches,
    sort_by_service,
)

# Fewer rows fill no row group of any store.
_ROWS_TOGETHER = 2048


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group: an outcome for each request, and the counts of each batch with its signal."""

    outcomes: list[Outcome]
    counts: list[tuple[Signal, WriteCounts]]


@dataclass(frozen=True, slots=True)
class _Part:
    """The requests of a group that are decoded alike, as one signal in one encoding."""

    signal: Signal
    encoding: Encoding
    exports: list[Export]
    batches: list[SortedBatch]
    refused: dict[int, list[Reject]]
    """Faults of the exports that are not in the batches, by position in `exports`."""

    @property
    def kept(self) -> list[int]:
        """Positions of the exports whose documents are in the batches."""
        return [row for row in range(len(self.exports)) if row not in self.refused]

    @property
    def row_count(self) -> int:
        """Rows of the largest table of each batch."""
        return sum(batch.largest_table_rows for batch in self.batches)

    @property
    def refused_rejects(self) -> list[Reject]:
        """The same faults for the record of the ingest; they belong to no document of the batches."""
        return [replace(each, document_row=None) for faults in self.refused.values() for each in faults]


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """The requests of a group, decoded; needs no store."""

    exports: Sequence[Export]
    parts: list[_Part]


def read_group(group: Sequence[Export]) -> ReadGroup:
    """Decode the requests of a group, those of one signal and encoding together."""
    exports: dict[tuple[Signal, Encoding], list[Export]] = defaultdict(list)
    for export in group:
        exports[export.signal, export.encoding].append(export)
    return ReadGroup(group, [_part(signal, encoding, alike) for (signal, encoding), alike in exports.items()])


def joined(groups: Sequence[ReadGroup]) -> ReadGroup:
    """Groups as one, without reading anything again."""
    alike: dict[tuple[Signal, Encoding], list[_Part]] = defaultdict(list)
    for part in (part for group in groups for part in group.parts):
        alike[part.signal, part.encoding].append(part)
    exports = [export for group in groups for export in group.exports]
    return ReadGroup(exports, [_joined(parts) for parts in alike.values()])


def write_group(database: Database, read: ReadGroup) -> Written:
    """Store the requests of a group; what is not stored is told to its sender and counted.

    Raises `StoreError` when not all could be written; what of it is stored is known when it comes again.
    """
    outcomes: dict[int, Outcome] = {}
    counts: list[tuple[Signal, WriteCounts]] = []
    for parts in _transactions(read.parts):
        writer = IngestWriter(database, source="otlp receiver", format=_format(parts))
        written = writer.write_all([(merge_batches(part.batches), part.refused_rejects) for part in parts])
        for part, each in zip(parts, written, strict=True):
            outcomes |= _outcomes(part, each)
            counts.append((part.signal, each))
    return Written([outcomes[id(export)] for export in read.exports], counts)


def _transactions(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """The parts in lists that are written in one transaction each: as many as are small together, or one.

    DuckDB 2.0 fails with an internal error when a transaction appends to a VARIANT column behind a row group that it
    has filled before. One part adds to each table once.
    """
    together: list[_Part] = []
    for part in parts:
        if together and sum(each.row_count for each in (*together, part)) >= _ROWS_TOGETHER:
            yield together
            together = []
        together.append(part)
    if together:
        yield together


def _part(signal: Signal, encoding: Encoding, exports: list[Export]) -> _Part:
    batch = _decoded(signal, encoding, exports)
    faults = rejects_by_request(decoder_rejects(batch.rejects))
    refused = {row: rejects for row, rejects in faults.items() if undecodable(rejects)}
    if refused:
        batch = _decoded(signal, encoding, [each for row, each in enumerate(exports) if row not in refused])
    return _Part(signal, encoding, exports, [sort_by_service(batch)], refused)


def _joined(parts: list[_Part]) -> _Part:
    exports: list[Export] = []
    refused: dict[int, list[Reject]] = {}
    for part in parts:
        refused |= {len(exports) + row: faults for row, faults in part.refused.items()}
        exports += part.exports
    batches = [batch for part in parts for batch in part.batches]
    return _Part(parts[0].signal, parts[0].encoding, exports, batches, refused)


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


def _format(parts: Sequence[_Part]) -> str:
    return ", ".join(sorted({f"{export.transport} {part.encoding}" for part in parts for export in part.exports}))
