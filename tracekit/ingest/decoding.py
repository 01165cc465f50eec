"""Sources to decoded batches: documents are gathered until a batch is large enough to be written fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.ingest.sources import Source, reason
from tracekit.otlp import Batch, Encoding, Signal, decode
from tracekit.otlp.framing import Chunk, documents
from tracekit.store import Reject
from tracekit.store.writing import decoder_rejects

# About 380,000 spans of ten attributes. Large batches share the cost of a transaction and of looking for
# duplicates, and give each service row groups of its own; two of them must fit in memory.
_BATCH_BYTES: dict[Encoding, int] = {"protobuf": 160 << 20, "json": 320 << 20}
_CHUNK_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """Records of one source, ready to be written."""

    source: Source
    batch: Batch
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
    faults: tuple[Reject, ...] = ()


@dataclass(slots=True)
class _Gathered:
    """Chunks of one encoding and signal that will be decoded together."""

    chunks: list[Chunk] = field(default_factory=list)
    payload_bytes: int = 0

    def add(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.payload_bytes += sum(len(document.payload) for document in chunk.documents)

    @property
    def kind(self) -> tuple[Encoding, Signal | None]:
        return self.chunks[0].encoding, self.chunks[0].signal


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
            for gathered in _gathered(documents(stream, chunk_bytes=_CHUNK_BYTES)):
                is_empty = False
                yield _decode(source, gathered)
    except UnknownFormatError as error:
        yield Ended(source, error=str(error), is_unknown=True)
    except TracekitError as error:
        yield Ended(source, error=str(error))
    except OSError as error:
        yield Ended(source, error=reason(error))
    else:
        yield Ended(source, error="is empty" if is_empty else None)


def _gathered(chunks: Iterable[Chunk]) -> Iterator[_Gathered]:
    gathered = _Gathered()
    for chunk in chunks:
        if gathered.chunks and gathered.kind != (chunk.encoding, chunk.signal):
            yield gathered
            gathered = _Gathered()
        gathered.add(chunk)
        if gathered.payload_bytes >= _BATCH_BYTES[chunk.encoding]:
            yield gathered
            gathered = _Gathered()
    if gathered.chunks:
        yield gathered


def _decode(source: Source, gathered: _Gathered) -> Decoded:
    encoding, signal = gathered.kind
    together = [document for chunk in gathered.chunks for document in chunk.documents]
    return Decoded(
        source=source,
        batch=decode(together, encoding=encoding, signal=signal),
        format=gathered.chunks[-1].format,
        offsets=[document.offset for document in together],
        faults=tuple(fault for chunk in gathered.chunks for fault in decoder_rejects(chunk.rejects)),
        consumed_bytes=gathered.chunks[-1].consumed_bytes,
    )
