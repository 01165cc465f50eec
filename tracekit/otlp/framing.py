"""Files and streams to OTLP documents. The format is recognised from the content, never from a name.

Read are: OTLP/JSON, one document a line, one after the other, or one alone over many lines; protobuf
messages, alone or each behind its length in four bytes (big-endian); messages behind their length that are
zstd frames of either encoding; and gzip or zstd over any of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tracekit.errors import UnknownFormatError
from tracekit.otlp.batch import Document
from tracekit.otlp.decompression import CountedSource, opened
from tracekit.otlp.fields import Signal
from tracekit.otlp.length_prefixed import is_length_prefixed, length_prefixed
from tracekit.otlp.parts import Fault, Part
from tracekit.otlp.protobuf_messages import is_protobuf, protobuf_messages
from tracekit.otlp.reasons import ADVICE, Reason
from tracekit.otlp.rejects import REJECTS
from tracekit.otlp.text_documents import has_otlp_key, json_lines, json_values, looks_like_lines
from tracekit.otlp.walk import Encoding
from tracekit.otlp.window import Window

MAX_DOCUMENT_BYTES = 256 << 20
_SNIFFED_BYTES = 1 << 16
_BLANKS = b"\x00\xef\xbb\xbf \t\r\n"
_JSON_KEY = re.compile(rb'"((?:[^"\\]|\\.){1,60})"\s*:')


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
        counted = CountedSource(stream)
        reader = opened(counted)
        window = Window(reader.read)
        window.extend(_SNIFFED_BYTES)
        name, parts = _recognised(window, chunk_bytes, max_document_bytes)
        words = f"{name}, {reader.compression}" if reader.compression else name
        gathered = _Gathered()
        for part in parts:
            if gathered.ends_before(part, chunk_bytes):
                yield _chunk(gathered, counted.consumed_bytes, words)
                gathered = _Gathered(gathered.encoding)
            gathered.add(part)
        if reader.is_damaged:
            gathered.add(Fault(Reason.UNREADABLE_COMPRESSION, window.offset + len(window.data)))
        if gathered.documents or gathered.faults:
            yield _chunk(gathered, counted.consumed_bytes, words)


def _recognised(window: Window, chunk_bytes: int, max_document_bytes: int) -> tuple[str, Iterator[Part | Fault]]:
    """The format's name and the parts of the stream."""
    start = window.data.lstrip(_BLANKS)
    if not start:
        return _recognised_behind_blanks(window, chunk_bytes, max_document_bytes)
    if is_length_prefixed(window.data, max_document_bytes=max_document_bytes):
        return "OTLP messages with length", length_prefixed(window, chunk_bytes, max_document_bytes)
    if has_otlp_key(window, chunk_bytes):
        if looks_like_lines(window, chunk_bytes):
            return "OTLP/JSON lines", json_lines(window, chunk_bytes, max_document_bytes)
        return "OTLP/JSON", json_values(window, chunk_bytes, max_document_bytes)
    if is_protobuf(window, chunk_bytes):
        return "OTLP protobuf", protobuf_messages(window, chunk_bytes, max_document_bytes)
    raise UnknownFormatError(_what_was_seen(start))


def _recognised_behind_blanks(
    window: Window, chunk_bytes: int, max_document_bytes: int
) -> tuple[str, Iterator[Part | Fault]]:
    """The same for a stream that starts with nothing but blanks or NUL bytes, which are skipped."""
    if window.is_last:
        return "empty", iter(())
    window.drop(len(window.data))
    window.extend(_SNIFFED_BYTES)
    return _recognised(window, chunk_bytes, max_document_bytes)


def _what_was_seen(start: bytes) -> str:
    expected = "expected OTLP as JSON (resourceSpans, resourceMetrics, resourceLogs) or protobuf"
    keys = [key.decode(errors="replace") for key in _JSON_KEY.findall(start)[:3]]
    if start[:1] in (b"{", b"[") and keys:
        return f"JSON with the keys {', '.join(keys)}, but no OTLP in it; {expected}"
    return f"content that starts with the bytes {start[:8].hex(' ')} ({start[:8]!r}); {expected}"


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
