"""Sources to decoded batches, as a store writes them or as they were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tracekit.ingest.reading import BATCH_BYTES, BATCH_ROWS, Ended, Gathered, gathered
from tracekit.ingest.sources import Source
from tracekit.records import Batch, joined
from tracekit.store import (
    MergedBatch,
    Reject,
    SmallSource,
    SortedBatch,
    has_only_spans,
    merge_batches,
    merge_sources,
    sort_by_service,
)

Whole = TypeVar("Whole")

_MOST_TOGETHER = 2048
"""Small sources that are written at once; each takes some kilobytes beside its records."""


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
class Together:
    """Whole small sources, read to their ends, ready to be written at once."""

    sources: tuple[Source, ...]
    contents: tuple[SmallSource, ...]
    """What each of them holds."""
    batch: MergedBatch


def decoded(sources: Iterable[Source]) -> Iterator[Decoded[MergedBatch] | Ended | Together]:
    """The batches of each source, and an end for each; a fault of one source does not stop the next.

    Small sources of nothing but spans that follow each other come together. All come in the order of `sources`.
    """
    waiting = _Waiting()
    for source in sources:
        for item in gathered(source, sort_by_service):
            if isinstance(item, Gathered) and _is_small(item):
                waiting.add(item)
            elif isinstance(item, Gathered):
                yield from waiting.taken()
                yield _decoded(item, merge_batches(item.parts))
            elif not waiting.holds(source):
                yield from waiting.taken()
                yield item
        if waiting.is_large():
            yield from waiting.taken()
    yield from waiting.taken()


def decoded_as_read(source: Source) -> Iterator[Decoded[Batch] | Ended]:
    """The batches that `decoded` makes of a source, with their records in the order in which they lie there."""
    for item in gathered(source, lambda batch: batch):
        yield _decoded(item, joined(item.parts)) if isinstance(item, Gathered) else item


@dataclass(slots=True)
class _Waiting:
    """Small sources that wait for others to be written with."""

    read: list[Gathered[SortedBatch]] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, whole: Gathered[SortedBatch]) -> None:
        self.read.append(whole)
        self.row_count += whole.row_count
        self.size_bytes += whole.size_bytes

    def holds(self, source: Source) -> bool:
        """Whether this source came last."""
        return bool(self.read) and self.read[-1].source is source

    def is_large(self) -> bool:
        size = self.row_count >= BATCH_ROWS or self.size_bytes >= BATCH_BYTES
        return size or len(self.read) >= _MOST_TOGETHER

    def taken(self) -> Iterator[Decoded[MergedBatch] | Ended | Together]:
        """What waits; one source alone as every other source."""
        read, self.read, self.row_count, self.size_bytes = self.read, [], 0, 0
        if len(read) == 1:
            yield _decoded(read[0], merge_batches(read[0].parts))
            yield Ended(read[0].source)
        elif read:
            contents = tuple(
                SmallSource(each.source.name, each.format, tuple(each.parts), tuple(each.faults)) for each in read
            )
            yield Together(tuple(each.source for each in read), contents, merge_sources(contents))


def _is_small(found: Gathered[SortedBatch]) -> bool:
    """Whether it may be written with those of other sources."""
    return found.is_whole and not found.is_large() and all(has_only_spans(part) for part in found.parts)


def _decoded(found: Gathered, batch: Whole) -> Decoded[Whole]:
    return Decoded(found.source, batch, found.format, tuple(found.faults), found.consumed_bytes)
