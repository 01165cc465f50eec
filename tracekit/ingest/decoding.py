"""Sources to decoded batches: small pieces are decoded, and joined until a batch can be written fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.ingest.sources import Source, reason
from tracekit.otlp import decode
from tracekit.otlp.framing import Chunk, documents
from tracekit.store import ClusteredBatch, PreparedBatch, Reject, clustered, prepared
from tracekit.store.writing import decoder_rejects

# What is decoded at once: more would leave the processor's caches and take new memory each time.
_CHUNK_BYTES = 8 << 20
# What is written at once: three row groups of DuckDB. Large batches share the cost of a transaction and of
# looking for duplicates, and give each service row groups of its own; two of them must fit in memory.
_BATCH_ROWS = 3 * 122_880
_BATCH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """Records of one source, ready to be written."""

    source: Source
    batch: PreparedBatch
    format: str
    offsets: list[int]
    """Byte offset in the source of each document of the batch."""
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


@dataclass(slots=True)
class _Gathered:
    """Decoded pieces of one source that will be written together."""

    parts: list[ClusteredBatch] = field(default_factory=list)
    offsets: list[list[int]] = field(default_factory=list)
    faults: list[Reject] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, chunk: Chunk) -> None:
        batch = decode(chunk.documents, encoding=chunk.encoding, signal=chunk.signal)
        records = (
            batch.spans,
            batch.metric_points,
            batch.metric_histograms,
            batch.metric_summaries,
            batch.logs,
        )
        self.parts.append(clustered(batch, document_count=len(chunk.documents)))
        self.offsets.append([document.offset for document in chunk.documents])
        self.faults += decoder_rejects(chunk.rejects)
        self.row_count += sum(table.num_rows for table in records)
        self.size_bytes += sum(table.nbytes for table in records)

    def is_large(self) -> bool:
        return self.row_count >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES

    def decoded(self, source: Source, last: Chunk) -> Decoded:
        return Decoded(
            source=source,
            batch=prepared(self.parts),
            format=last.format,
            offsets=[offset for offsets in self.offsets for offset in offsets],
            faults=tuple(self.faults),
            consumed_bytes=last.consumed_bytes,
        )


def decoded(sources: Iterable[Source]) -> Iterator[Decoded | Ended]:
    """The batches of each source, and an end for each; a fault of one source does not stop the next."""
    for source in sources:
        if source.error is not None:
            yield Ended(source, error=source.error)
        else:
            yield from _decoded(source)


def _decoded(source: Source) -> Iterator[Decoded | Ended]:
    is_empty = True
    try:
        with source.open() as stream:
            for batch in _batches(source, documents(stream, chunk_bytes=_CHUNK_BYTES)):
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


def _batches(source: Source, chunks: Iterable[Chunk]) -> Iterator[Decoded]:
    gathered, chunk = _Gathered(), None
    for chunk in chunks:
        gathered.add(chunk)
        if gathered.is_large():
            yield gathered.decoded(source, chunk)
            gathered = _Gathered()
    if chunk is not None and gathered.parts:
        yield gathered.decoded(source, chunk)
