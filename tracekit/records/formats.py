"""The formats that records come in: each recognises its files by their content and reads them into batches.

To add one, write a module in `tracekit/importers` with a class that has what `Format` asks for:

    class OperationTable:
        name = "operation table"
        expects = "an operation table (Parquet or CSV)"

        def recognise(self, source: Input) -> bool:
            return source.peek(4) == b"PAR1"

        def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
            table = pyarrow.parquet.read_table(pyarrow.BufferReader(source.whole(_MOST_BYTES)))
            yield Piece(Batch.of(resources=..., scopes=..., spans=..., documents=documents_at([0])), self.name)

and put `OperationTable()` into `FORMATS` of `tracekit/importers/__init__.py`. A module loads large libraries inside
`read`, not when it is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from tracekit.errors import UnknownFormatError
from tracekit.records.batch import Batch
from tracekit.records.schemas import REJECTS


class Input(Protocol):
    """A file or stream that is being recognised and read, with gzip or zstd around it taken off already."""

    path: Path | None
    """The file, where its bytes are on disk just as they are read here; none for a stream or a compressed file."""

    origin: Path | None
    """The file that the bytes come from, compressed or not; none for a stream."""

    def peek(self, size: int) -> bytes:
        """The first `size` bytes of what is left, or all if there are fewer; they are read again later."""

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer at the end only, none behind it."""

    def whole(self, max_bytes: int) -> bytes:
        """All that is left. Raises `UnknownFormatError` where that is more than `max_bytes`."""


def _no_faults() -> pa.Table:
    return pa.table([pa.array([], field.type) for field in REJECTS], schema=REJECTS)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some records of a source. A small one is written together with others, so its size is the reader's choice."""

    batch: Batch
    """The records; faults that a reader finds in them belong into `batch.rejects`."""
    format: str
    """The format in words, as the report of an ingest shows it."""
    faults: pa.Table = field(default_factory=_no_faults)
    """What could not even be cut into documents; columns `REJECTS`, without `document_row`."""


class Format(Protocol):
    """One format of files."""

    @property
    def name(self) -> str:
        """The format in a few words, for example `OTLP/JSON lines`."""

    @property
    def expects(self) -> str:
        """What the format is, as part of a sentence that names all formats; formats that share it are told once, and
        those without are not told.
        """

    def recognise(self, source: Input) -> bool:
        """Whether the content is this format, from a few bytes (`peek`) that nothing else starts with.

        Must not raise, whatever the bytes are, and reads nothing away.
        """

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The records, in pieces of about `chunk_bytes` of the source.

        Bad records become rejects. Raises a `TracekitError` where the file as a whole cannot be read; what was given
        before that is stored. Content comes from outside: nothing is executed, and memory stays bounded.
        """


AnyFormat = TypeVar("AnyFormat", bound=Format)
_SHOWN_BYTES = 1 << 16
_BLANKS = b"\x00\xef\xbb\xbf \t\r\n"
_JSON_KEY = re.compile(rb'"((?:[^"\\]|\\.){1,60})"\s*:')


def recognised(source: Input, among: Iterable[AnyFormat]) -> AnyFormat:
    """The first of some formats that recognises the content. Raises `UnknownFormatError`."""
    asked = tuple(among)
    found = next((each for each in asked if each.recognise(source)), None)
    if found is None:
        raise UnknownFormatError(_what_was_seen(source.peek(_SHOWN_BYTES).lstrip(_BLANKS), asked))
    return found


def _what_was_seen(start: bytes, asked: Iterable[Format]) -> str:
    expected = f"expected {', '.join(dict.fromkeys(each.expects for each in asked if each.expects))}"
    keys = [key.decode(errors="replace") for key in _JSON_KEY.findall(start)[:3]]
    if start[:1] in (b"{", b"[") and keys:
        return f"JSON with the keys {', '.join(keys)}, but no OTLP in it; {expected}"
    return f"content that starts with the bytes {start[:8].hex(' ')} ({start[:8]!r}); {expected}"
