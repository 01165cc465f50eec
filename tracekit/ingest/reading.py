"""A source to the records that are written at once: small pieces are decoded, and gathered until they are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tracekit import importers, otlp
from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.ingest.sources import Source, reason
from tracekit.records import Batch, Piece, recognised
from tracekit.store import Reject, decoder_rejects

Part = TypeVar("Part")

# What is decoded at once: more would leave the processor's caches and take new memory each time.
_CHUNK_BYTES = 8 << 20
# What is written at once: three row groups of DuckDB. Large batches share the cost of a transaction and of
# looking for duplicates, and give each service row groups of its own; two of them must fit in memory.
BATCH_ROWS = 3 * 122_880
BATCH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """A source is read to its end, or cannot be read further because of `error`."""

    source: Source
    error: str | None = None
    is_unknown: bool = False
    """Whether its content is none of the known formats."""


@dataclass(slots=True)
class Gathered(Generic[Part]):
    """Decoded pieces of one source that are written together; `keep` makes a part of each at once."""

    source: Source
    keep: Callable[[Batch], Part]
    parts: list[Part] = field(default_factory=list)
    faults: list[Reject] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0
    format: str = ""
    consumed_bytes: int = 0
    """Bytes of the source read so far."""
    is_whole: bool = False
    """Whether this is all of the source."""

    def add(self, piece: Piece) -> None:
        self.parts.append(self.keep(piece.batch))
        self.faults += decoder_rejects(piece.faults)
        self.row_count += piece.batch.record_count
        self.size_bytes += piece.batch.record_bytes
        self.format = piece.format

    def is_large(self) -> bool:
        return self.row_count >= BATCH_ROWS or self.size_bytes >= BATCH_BYTES


def gathered(source: Source, keep: Callable[[Batch], Part]) -> Iterator[Gathered[Part] | Ended]:
    """What is written at once of a source, one after the other, and its end; a fault ends it."""
    if source.error is not None:
        yield Ended(source, error=source.error)
        return
    is_empty = True
    try:
        with source.open() as stream:
            for found in _gathered(source, otlp.open_window(stream, path=source.path), keep):
                is_empty = False
                yield found
    except UnknownFormatError as error:
        yield Ended(source, error=str(error), is_unknown=True)
    except TracekitError as error:
        yield Ended(source, error=str(error))
    except OSError as error:
        yield Ended(source, error=reason(error))
    else:
        yield Ended(source, error="is empty" if is_empty else None)


def _gathered(source: Source, window: otlp.Window, keep: Callable[[Batch], Part]) -> Iterator[Gathered[Part]]:
    found, is_first = Gathered(source, keep), True
    format = recognised(window, (*importers.FORMATS, *otlp.FORMATS, importers.REFUSED))
    for piece in format.read(window, chunk_bytes=_CHUNK_BYTES):
        found.add(piece)
        found.consumed_bytes = window.consumed_bytes
        if found.is_large():
            yield found
            found, is_first = Gathered(source, keep), False
    if found.parts:
        found.is_whole = is_first
        yield found
