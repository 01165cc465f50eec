"""The formats of OTLP files, each recognised from the content, never from a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from tracekit.otlp.decoding import decode
from tracekit.otlp.document import Document, Encoding, Fault, Part
from tracekit.otlp.framing.json_documents import (
    has_otlp_key,
    is_json_array,
    json_array,
    json_lines,
    json_values,
    looks_like_lines,
)  # fmt: skip
from tracekit.otlp.framing.length_prefixed import is_length_prefixed, length_prefixed
from tracekit.otlp.framing.protobuf_messages import is_protobuf, protobuf_messages
from tracekit.otlp.framing.window import Window, open_window
from tracekit.records import ADVICE, REJECTS, Input, Piece, Reason, Signal, recognised

MAX_DOCUMENT_BYTES = 256 << 20
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Chunk:
    """Some documents of a source, of one encoding."""

    encoding: Encoding
    signal: Signal | None
    """What the documents hold, None where `decode` must find out."""
    documents: list[Document]
    rejects: pa.Table
    """What could not even be cut into documents; columns `REJECTS`, without a document."""
    consumed_bytes: int
    """Bytes of the source read so far, compressed if it is."""
    format: str
    """The format in words, for example `OTLP/JSON lines, gzip`."""


@dataclass
class _Gathered:
    """Documents of one encoding on their way into a chunk."""

    encoding: Encoding = "json"
    documents: list[Document] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, part: Part | Fault) -> None:
        """Takes more documents or one more fault."""
        if isinstance(part, Fault):
            self.faults.append(part)
        else:
            self.encoding = part.encoding
            self.documents += part.documents
            self.size_bytes += sum(len(document.payload) for document in part.documents)

    def ends_before(self, part: Part | Fault, chunk_bytes: int) -> bool:
        """Whether the chunk is full, or the next part is of the other encoding."""
        if isinstance(part, Fault) or not self.documents:
            return False
        return part.encoding != self.encoding or self.size_bytes >= chunk_bytes


@dataclass(frozen=True)
class OtlpFormat:
    """One way in which files hold OTLP; a `tracekit.records.Format`."""

    name: str
    is_it: Callable[[Window, int], bool]
    """Whether a window is of the format, which may look at so many bytes."""
    parts: Callable[[Window, int, int], Iterator[Part | Fault]]
    """Cuts a window into documents; takes the bytes to look at, and those of the largest document."""
    expects: str = "OTLP as JSON (resourceSpans, resourceMetrics, resourceLogs) or protobuf"

    def recognise(self, source: Input) -> bool:
        """Whether the content is of the format."""
        return self.is_it(cast(Window, source), _CHUNK_BYTES)

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The records, in pieces of about `chunk_bytes`."""
        for chunk in self.chunks(cast(Window, source), chunk_bytes, MAX_DOCUMENT_BYTES):
            batch = decode(chunk.documents, encoding=chunk.encoding, signal=chunk.signal)
            yield Piece(batch, chunk.format, chunk.rejects)

    def chunks(self, window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Chunk]:
        """The documents, in chunks of about `chunk_bytes` and one encoding each."""
        words = f"{self.name}, {window.compression}" if window.compression else self.name
        gathered = _Gathered()
        for part in self.parts(window, chunk_bytes, max_document_bytes):
            if gathered.ends_before(part, chunk_bytes):
                yield _chunk(gathered, window.consumed_bytes, words)
                gathered = _Gathered(gathered.encoding)
            gathered.add(part)
        if window.is_damaged:
            gathered.add(Fault(Reason.UNREADABLE_COMPRESSION, window.offset + len(window.data)))
        if gathered.documents or gathered.faults:
            yield _chunk(gathered, window.consumed_bytes, words)


def _is_json(window: Window, chunk_bytes: int) -> bool:
    return has_otlp_key(window, chunk_bytes) and not looks_like_lines(window, chunk_bytes)


def _is_json_lines(window: Window, chunk_bytes: int) -> bool:
    return has_otlp_key(window, chunk_bytes) and looks_like_lines(window, chunk_bytes)


def _is_length_prefixed(window: Window, chunk_bytes: int) -> bool:
    return is_length_prefixed(window, chunk_bytes, max_document_bytes=MAX_DOCUMENT_BYTES)


def _is_protobuf(window: Window, chunk_bytes: int) -> bool:
    return is_protobuf(window, chunk_bytes, max_document_bytes=MAX_DOCUMENT_BYTES)


def _is_empty(window: Window, chunk_bytes: int) -> bool:
    return not window.data


def _nothing(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    return iter(())


FORMATS = (
    OtlpFormat("empty", _is_empty, _nothing),
    OtlpFormat("OTLP messages with length", _is_length_prefixed, length_prefixed),
    OtlpFormat("OTLP/JSON array", is_json_array, json_array),
    OtlpFormat("OTLP/JSON lines", _is_json_lines, json_lines),
    OtlpFormat("OTLP/JSON", _is_json, json_values),
    OtlpFormat("OTLP protobuf", _is_protobuf, protobuf_messages),
)
"""In the order in which they are asked."""


def documents(
    source: BinaryIO | Path, *, chunk_bytes: int = 32 << 20, max_document_bytes: int = MAX_DOCUMENT_BYTES
) -> Iterator[Chunk]:
    """The OTLP documents of a file or byte stream, in chunks of about `chunk_bytes`.

    Memory is bounded by a few times the larger of `chunk_bytes` and the largest document; a document beyond
    `max_document_bytes`, also after decompression, is rejected. An empty source gives no chunk.

    Raises:
        UnknownFormatError: the content is in none of the formats.
        OSError: the source cannot be read.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(source.open("rb", buffering=0)) if isinstance(source, Path) else source
        window = open_window(stream)
        yield from recognised(window, FORMATS).chunks(window, chunk_bytes, max_document_bytes)


def _chunk(gathered: _Gathered, consumed_bytes: int, words: str) -> Chunk:
    rows = [
        {
            "signal": None, "kind": "rejected", "reason": fault.reason.word, "count": 1, "document_row": None,
            "offset": fault.offset, "example": ADVICE[fault.reason],
        }
        for fault in gathered.faults
    ]  # fmt: skip
    rejects = pa.Table.from_pylist(rows, schema=REJECTS)
    return Chunk(gathered.encoding, None, gathered.documents, rejects, consumed_bytes, words)
