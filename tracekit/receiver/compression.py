"""Compressed request bodies, inflated piece by piece so that a bomb stops at the limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

import zstandard

from tracekit.receiver.outcome import Refusal, Refused, RefusedError

Buffer: TypeAlias = bytes | memoryview

_GZIP_OR_ZLIB = 47
_RAW_DEFLATE = -15
_PIECE_BYTES = 1 << 20
# zlib copies what it has not read yet at each step, so it is fed little at a time.
_ZLIB_FEED_BYTES = 1 << 14
_FIRST_FEED_BYTES = 1 << 7
# One byte of zstd can stand for 32 KiB, and a step cannot be bounded on the side of its output.
_ZSTD_FEED_BYTES = 1 << 8
_ZSTD_WINDOW_BYTES = 1 << 27

ENCODINGS = ("identity", "gzip", "x-gzip", "deflate", "zstd")
"""Values of `Content-Encoding` that are understood."""


def inflated(
    compressed: bytes,
    *,
    encoding: str,
    limit_bytes: int,
    grow: Callable[[int], None] = lambda size_bytes: None,
) -> bytes:
    """The content of a compressed body; `encoding` is one of `ENCODINGS`.

    `grow` is called with the bytes of each piece before it is kept. Raises `RefusedError`: too large for
    content
    beyond `limit_bytes`, invalid for damaged or truncated data.
    """
    pieces: list[bytes] = []
    size_bytes = 0
    try:
        for piece in _pieces(compressed, encoding):
            size_bytes += len(piece)
            check_size(size_bytes, limit_bytes)
            grow(len(piece))
            pieces.append(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise RefusedError(
            Refused(Refusal.INVALID, f"the body is not whole {encoding} data ({error}); compress it again")
        ) from error
    return b"".join(pieces)


def check_size(size_bytes: int, limit_bytes: int) -> None:
    """Raise `RefusedError` for a body beyond the limit."""
    if size_bytes > limit_bytes:
        raise RefusedError(
            Refused(
                Refusal.TOO_LARGE,
                f"the request is larger than {limit_bytes} bytes after decompression; send smaller batches",
            )
        )


def _pieces(compressed: bytes, encoding: str) -> Iterator[bytes]:
    if encoding == "zstd":
        return _zstd_pieces(compressed)
    if encoding == "deflate" and not _has_zlib_header(compressed):
        return _zlib_pieces(compressed, _RAW_DEFLATE)
    return _zlib_pieces(compressed, _GZIP_OR_ZLIB)


def _has_zlib_header(compressed: bytes) -> bool:
    # RFC 9110 means the zlib format by "deflate"; some senders leave its header away.
    header = compressed[:2]
    return len(header) == 2 and header[0] & 15 == 8 and int.from_bytes(header, "big") % 31 == 0


def _zlib_pieces(compressed: bytes, window_bits: int) -> Iterator[bytes]:
    content, place = memoryview(compressed), 0
    while True:
        # A gzip body may have several members, one behind the other. What a member leaves unread is copied, so a
        # member is fed little before it has shown to be long.
        stream, feed_bytes = zlib.decompressobj(window_bits), _FIRST_FEED_BYTES
        while not stream.eof:
            if stream.unconsumed_tail:
                feed: Buffer = stream.unconsumed_tail
            elif place < len(content):
                feed = content[place : place + feed_bytes]
                place += len(feed)
                feed_bytes = min(2 * feed_bytes, _ZLIB_FEED_BYTES)
            else:
                raise EOFError("it ends too early")
            yield stream.decompress(feed, _PIECE_BYTES)
        place -= len(stream.unused_data)
        if place == len(content):
            return


def _zstd_pieces(compressed: bytes) -> Iterator[bytes]:
    content, place = memoryview(compressed), 0
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    while True:
        stream = decompressor.decompressobj()
        while not stream.eof:
            if place >= len(content):
                raise EOFError("it ends too early")
            feed = content[place : place + _ZSTD_FEED_BYTES]
            place += len(feed)
            yield stream.decompress(feed)
        place -= len(stream.unused_data)
        if place == len(content):
            return
