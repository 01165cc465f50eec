"""Sources to decoded batches: small pieces are decoded, and joined until a batch can be written fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracekit import importers, otlp
from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.ingest.sources import Source, reason
from tracekit.records import Piece, recognised
from tracekit.store import (
    MergedBatch,
    Reject,
    SmallSource,
    SortedBatch,
    decoder_rejects,
    has_only_spans,
    merge_batches,
    merge_sources,
    sort_by_service,
)

# What is decoded at once: more would leave the processor's caches and take new memory each time.
_CHUNK_BYTES = 8 << 20
# What is written at once: three row groups of DuckDB. Large batches share the cost of a transaction and of
# looking for duplicates, and give each service row groups of its own; two of them must fit in memory.
_BATCH_ROWS = 3 * 122_880
_BATCH_BYTES = 256 << 20
_MOST_TOGETHER = 2048
"""Small sources that are written at once; each takes some kilobytes beside its records."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Records of one source, ready to be written."""

    source: Source
    batch: MergedBatch
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
class Together:
    """Whole small sources, read to their ends, ready to be written at once."""

    sources: tuple[Source, ...]
    contents: tuple[SmallSource, ...]
    """What each of them holds."""
    batch: MergedBatch


@dataclass(slots=True)
class _Waiting:
    """Small sources that wait for others to be written with."""

    read: list[tuple[Source, _Gathered, str, int]] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, source: Source, gathered: _Gathered, format: str, consumed_bytes: int) -> None:
        self.read.append((source, gathered, format, consumed_bytes))
        self.row_count += gathered.row_count
        self.size_bytes += gathered.size_bytes

    def is_large(self) -> bool:
        size = self.row_count >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES
        return size or len(self.read) >= _MOST_TOGETHER

    def taken(self) -> Iterator[Decoded | Ended | Together]:
        """What waits; one source alone as every other source."""
        read, self.read, self.row_count, self.size_bytes = self.read, [], 0, 0
        if len(read) == 1:
            ((source, gathered, format, consumed_bytes),) = read
            yield gathered.decoded(source, format, consumed_bytes)
            yield Ended(source)
        elif read:
            contents = tuple(
                SmallSource(source.name, format, tuple(gathered.parts), tuple(gathered.faults))
                for source, gathered, format, _ in read
            )
            yield Together(tuple(source for source, *_ in read), contents, merge_sources(contents))


@dataclass(slots=True)
class _Gathered:
    """Decoded pieces of one source that will be written together."""

    parts: list[SortedBatch] = field(default_factory=list)
    faults: list[Reject] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, piece: Piece) -> None:
        self.parts.append(sort_by_service(piece.batch))
        self.faults += decoder_rejects(piece.faults)
        self.row_count += piece.batch.record_count
        self.size_bytes += piece.batch.record_bytes

    def is_large(self) -> bool:
        return self.row_count >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES

    def is_small(self) -> bool:
        """Whether it may be written with those of other sources."""
        return not self.is_large() and all(has_only_spans(part) for part in self.parts)

    def decoded(self, source: Source, format: str, consumed_bytes: int) -> Decoded:
        return Decoded(source, merge_batches(self.parts), format, tuple(self.faults), consumed_bytes)


def decoded(sources: Iterable[Source]) -> Iterator[Decoded | Ended | Together]:
    """The batches of each source, and an end for each; a fault of one source does not stop the next.

    Small sources of nothing but spans that follow each other come together. All come in the order of `sources`.
    """
    waiting = _Waiting()
    for source in sources:
        for item in _decoded(source, waiting):
            yield from waiting.taken()
            yield item
        if waiting.is_large():
            yield from waiting.taken()
    yield from waiting.taken()


def _decoded(source: Source, waiting: _Waiting) -> Iterator[Decoded | Ended]:
    """The batches and the end of a source, or nothing where it went to those that wait."""
    if source.error is not None:
        yield Ended(source, error=source.error)
        return
    is_empty, had = True, len(waiting.read)
    try:
        with source.open() as stream:
            for batch in _batches(source, otlp.open_window(stream, path=source.path), waiting):
                is_empty, had = False, 0
                yield batch
    except UnknownFormatError as error:
        yield Ended(source, error=str(error), is_unknown=True)
    except TracekitError as error:
        yield Ended(source, error=str(error))
    except OSError as error:
        yield Ended(source, error=reason(error))
    else:
        if len(waiting.read) == had:
            yield Ended(source, error="is empty" if is_empty else None)


def _batches(source: Source, window: otlp.Window, waiting: _Waiting) -> Iterator[Decoded]:
    """The batches of a source; one that is small as a whole goes to those that wait."""
    gathered, piece, is_first = _Gathered(), None, True
    format = recognised(window, (*importers.FORMATS, *otlp.FORMATS, importers.REFUSED))
    for piece in format.read(window, chunk_bytes=_CHUNK_BYTES):
        gathered.add(piece)
        if gathered.is_large():
            yield gathered.decoded(source, piece.format, window.consumed_bytes)
            gathered, is_first = _Gathered(), False
    if piece is None or not gathered.parts:
        return
    if is_first and gathered.is_small():
        waiting.add(source, gathered, piece.format, window.consumed_bytes)
    else:
        yield gathered.decoded(source, piece.format, window.consumed_bytes)
