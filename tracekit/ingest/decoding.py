"""Sources to decoded batches: small pieces are decoded, and joined until a batch can be written fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tracekit import importers, otlp
from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.ingest.sources import Source, reason
from tracekit.records import Batch, Piece, joined, recognised
from tracekit.store import MergedBatch, Reject, SortedBatch, decoder_rejects, merge_batches, sort_by_service

Part = TypeVar("Part")
Whole = TypeVar("Whole")

# What is decoded at once: more would leave the processor's caches and take new memory each time.
_CHUNK_BYTES = 8 << 20
# What is written at once: three row groups of DuckDB. Large batches share the cost of a transaction and of
# looking for duplicates, and give each service row groups of its own; two of them must fit in memory.
_BATCH_ROWS = 3 * 122_880
_BATCH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Decoded(Generic[Whole]):
    """Records of one source, ready to be written."""

    source: Source
    batch: Whole
    format: str
    faults: tuple[Reject, ...]
    consumed_bytes: int
    """Bytes of the source read so far."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A source is read to its end, or cannot be read further because of `error`."""

    source: Source
    error: str | None = None
    is_unknown: bool = False
    """Whether its content is none of the known formats."""


@dataclass(frozen=True, slots=True)
class _Way(Generic[Part, Whole]):
    """What is made of each decoded piece at once, and of all that are written together."""

    keep: Callable[[Batch], Part]
    merge: Callable[[Sequence[Part]], Whole]


@dataclass(slots=True)
class _Gathered(Generic[Part, Whole]):
    """Decoded pieces of one source that will be written together."""

    way: _Way[Part, Whole]
    parts: list[Part] = field(default_factory=list)
    faults: list[Reject] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, piece: Piece) -> None:
        self.parts.append(self.way.keep(piece.batch))
        self.faults += decoder_rejects(piece.faults)
        self.row_count += piece.batch.record_count
        self.size_bytes += piece.batch.record_bytes

    def is_large(self) -> bool:
        return self.row_count >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES

    def decoded(self, source: Source, format: str, consumed_bytes: int) -> Decoded[Whole]:
        return Decoded(source, self.way.merge(self.parts), format, tuple(self.faults), consumed_bytes)


_FOR_A_STORE: _Way[SortedBatch, MergedBatch] = _Way(sort_by_service, merge_batches)
_AS_READ: _Way[Batch, Batch] = _Way(lambda batch: batch, joined)


def decoded(sources: Iterable[Source]) -> Iterator[Decoded[MergedBatch] | Ended]:
    """The batches of each source, and an end for each; a fault of one source does not stop the next."""
    for source in sources:
        yield from _decoded(source, _FOR_A_STORE)


def decoded_as_read(source: Source) -> Iterator[Decoded[Batch] | Ended]:
    """The batches that `decoded` makes of a source, with their records in the order in which they lie there."""
    return _decoded(source, _AS_READ)


def _decoded(source: Source, way: _Way[Part, Whole]) -> Iterator[Decoded[Whole] | Ended]:
    if source.error is not None:
        yield Ended(source, error=source.error)
        return
    is_empty = True
    try:
        with source.open() as stream:
            for batch in _batches(source, otlp.open_window(stream, path=source.path), way):
                is_empty = False
                yield batch
    except UnknownFormatError as error:
        yield Ended(source, error=str(error), is_unknown=True)
    except TracekitError as error:
        yield Ended(source, error=str(error))
    except OSError as error:
        yield Ended(source, error=reason(error))
    else:
        yield Ended(source, error="is empty" if is_empty else None)


def _batches(source: Source, window: otlp.Window, way: _Way[Part, Whole]) -> Iterator[Decoded[Whole]]:
    gathered, piece = _Gathered(way), None
    format = recognised(window, (*importers.FORMATS, *otlp.FORMATS, importers.REFUSED))
    for piece in format.read(window, chunk_bytes=_CHUNK_BYTES):
        gathered.add(piece)
        if gathered.is_large():
            yield gathered.decoded(source, piece.format, window.consumed_bytes)
            gathered = _Gathered(way)
    if piece is not None and gathered.parts:
        yield gathered.decoded(source, piece.format, window.consumed_bytes)
