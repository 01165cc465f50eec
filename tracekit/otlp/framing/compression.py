"""Byte streams, decompressed on the way, of which never more than a little is in memory."""

from __future__ import annotations

import zlib
from typing import BinaryIO, Protocol

import zstandard

from tracekit.records import Reason

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_COMPRESSED_READ_BYTES = 1 << 20
# A zstd block of 4 bytes can stand for 128 KiB: what one call may produce is bounded by what it is fed.
_FED_BYTES = 1 << 8


class _Decompressor(Protocol):
    unused_data: bytes
    eof: bool

    def decompress(self, data: bytes, /) -> bytes:
        """What these bytes give, as far as it can be told yet."""
        ...


def _gzip() -> _Decompressor:
    return zlib.decompressobj(wbits=31)  # type: ignore[return-value]


def _zstd() -> _Decompressor:
    return zstandard.ZstdDecompressor().decompressobj()  # type: ignore[return-value]


class CountedSource:
    """A source that counts what was read from it and lets its first bytes be looked at."""

    def __init__(self, stream: BinaryIO) -> None:
        self.consumed_bytes = 0
        self._stream = stream
        self._seen = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size`, without consuming them."""
        while len(self._seen) < size and (more := self._stream.read(size - len(self._seen))):
            self._seen += more
        return self._seen[:size]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end."""
        data, self._seen = self._seen[:size], self._seen[size:]
        data = data or self._stream.read(size)
        self.consumed_bytes += len(data)
        return data


class PlainReader:
    """The bytes of a source as they are."""

    compression: str | None = None
    is_damaged = False

    def __init__(self, source: CountedSource) -> None:
        self._source = source

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end."""
        return self._source.read(size)


class DecompressingReader:
    """The bytes of a source that is a sequence of gzip members or zstd frames.

    Where the compressed data is damaged or cut the stream ends; `is_damaged` then says so.
    """

    def __init__(self, source: CountedSource, *, compression: str) -> None:
        self.compression: str | None = compression
        self.is_damaged = False
        self._source = source
        self._new = _gzip if compression == "gzip" else _zstd
        self._decompressor: _Decompressor | None = None
        self._compressed = memoryview(b"")
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end."""
        while len(self._ready) < size and not self.is_damaged and self._feed():
            pass
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _feed(self) -> bool:
        """Decompresses a little more; whether there was any."""
        if not self._compressed:
            self._compressed = memoryview(self._source.read(_COMPRESSED_READ_BYTES))
        if not self._compressed:
            self.is_damaged = self._decompressor is not None
            return False
        fed, self._compressed = self._compressed[:_FED_BYTES], self._compressed[_FED_BYTES:]
        try:
            self._decompress(bytes(fed))
        except (zlib.error, zstandard.ZstdError):
            self.is_damaged = True
        return True

    def _decompress(self, fed: bytes) -> None:
        while fed:
            if self._decompressor is None:
                self._decompressor = self._new()
            self._ready += self._decompressor.decompress(fed)
            fed = self._decompressor.unused_data if self._decompressor.eof else b""
            if self._decompressor.eof:
                self._decompressor = None


def opened(source: CountedSource) -> PlainReader | DecompressingReader:
    """A reader of the source's content, decompressed if it starts like gzip or zstd."""
    start = source.peek(len(ZSTD_MAGIC))
    if start.startswith(GZIP_MAGIC):
        return DecompressingReader(source, compression="gzip")
    if start.startswith(ZSTD_MAGIC):
        return DecompressingReader(source, compression="zstd")
    return PlainReader(source)


def zstd_message(frame: bytes, *, max_bytes: int) -> bytes | Reason:
    """The content of one zstd frame, or why there is none."""
    decompressor, content = _zstd(), bytearray()
    try:
        for start in range(0, len(frame), _FED_BYTES):
            content += decompressor.decompress(frame[start : start + _FED_BYTES])
            if len(content) > max_bytes:
                return Reason.TOO_LARGE
            if decompressor.eof:
                return bytes(content)
    except zstandard.ZstdError:
        pass
    return Reason.UNREADABLE_COMPRESSION
