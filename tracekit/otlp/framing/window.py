"""A window over a byte stream: the part that is being recognised, and cut into documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import TracekitError, UnknownFormatError
from tracekit.otlp.framing.compression import CountedSource, opened

SNIFFED_BYTES = 1 << 16
"""What is read before a format is looked for."""
BLANKS = b"\x00\xef\xbb\xbf \t\r\n"
"""Bytes that text files start with by mistake or need: NUL, byte order mark, white space."""


class Window:
    """The next bytes of a stream, decompressed, and where they stand in it; a `tracekit.records.Input`."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.data = b""
        self.offset = 0
        """Byte offset of the window in the stream."""
        self.is_last = False
        """Whether the stream ends with the window."""
        self.path: Path | None = None
        self.origin: Path | None = None
        self._read = read

    @property
    def compression(self) -> str | None:
        """What was around the stream: `gzip`, `zstd` or nothing."""
        return None

    @property
    def consumed_bytes(self) -> int:
        """Bytes of the source read so far, compressed if it is."""
        return self.offset + len(self.data)

    @property
    def is_damaged(self) -> bool:
        """Whether the stream ends early because its compressed data is damaged or cut."""
        return False

    def peek(self, size: int) -> bytes:
        """The first `size` bytes of what is left, or all if there are fewer."""
        self.extend(size)
        return self.data[:size]

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer at the end only."""
        found = self.peek(size)
        self.drop(len(found))
        return found

    def whole(self, max_bytes: int) -> bytes:
        """All that is left. Raises `UnknownFormatError` for more than `max_bytes`, `TracekitError` for damage."""
        found = self.read(max_bytes + 1)
        if self.is_damaged:
            raise TracekitError("the compressed data is damaged or cut; copy the file again")
        if len(found) > max_bytes:
            raise UnknownFormatError(f"is larger than the {max_bytes >> 20} MiB that are read of this format")
        return found

    def extend(self, size: int) -> None:
        """Makes the window at least `size` bytes long if the stream has them."""
        parts, have = [self.data], len(self.data)
        while have < size and not self.is_last:
            part = self._read(size - have)
            self.is_last = not part
            parts.append(part)
            have += len(part)
        if len(parts) > 1:
            self.data = b"".join(parts)

    def drop(self, size: int) -> None:
        """Moves the window's start over its first `size` bytes."""
        self.data = self.data[size:]
        self.offset += size

    def skip(self, size: int, *, step_bytes: int = 1 << 20) -> None:
        """Moves the window's start by `size` bytes, beyond its end if need be, without keeping them."""
        while size > 0:
            self.extend(min(size, step_bytes))
            if not self.data:
                return
            dropped = min(size, len(self.data))
            self.drop(dropped)
            size -= dropped

    def skip_line(self, *, step_bytes: int = 1 << 20) -> None:
        """Moves the window's start behind the next line end."""
        while self.data:
            end = self.data.find(b"\n")
            self.drop(end + 1 if end >= 0 else len(self.data))
            if end >= 0:
                return
            self.extend(step_bytes)


class _OpenWindow(Window):
    """A window over a file or stream, whose compression is taken off."""

    def __init__(self, stream: BinaryIO, path: Path | None) -> None:
        self._source = CountedSource(stream)
        self._reader = opened(self._source)
        super().__init__(self._reader.read)
        self.path = path if self._reader.compression is None else None
        self.origin = path

    @property
    def compression(self) -> str | None:
        return self._reader.compression

    @property
    def consumed_bytes(self) -> int:
        return self._source.consumed_bytes

    @property
    def is_damaged(self) -> bool:
        return self._reader.is_damaged


def open_window(stream: BinaryIO, *, path: Path | None = None) -> Window:
    """A window over the first bytes of a stream; `path` is the file that they are those of.

    A stream that starts with nothing but blanks or NUL bytes starts behind them. Raises `OSError`.
    """
    window = _OpenWindow(stream, path)
    window.extend(SNIFFED_BYTES)
    while window.data and not window.data.lstrip(BLANKS):
        window.drop(len(window.data))
        window.extend(SNIFFED_BYTES)
    return window
