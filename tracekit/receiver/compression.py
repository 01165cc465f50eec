"""Compressed request bodies, inflated piece by piece so that a bomb stops at the limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import zstandard

from tracekit.receiver.outcome import Refusal, Refused, RefusedError

_GZIP_OR_ZLIB = 47
_RAW_DEFLATE = -15
_PIECE_BYTES = 1 << 20
# zlib copies what it has not read yet at each step, so it is fed little at a time.
_ZLIB_FEED_BYTES = 1 << 14
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
    rest = memoryview(compressed)
    while True:
        stream = zlib.decompressobj(window_bits)
        while not stream.eof:
            if not rest and not stream.unconsumed_tail:
                raise EOFError("it ends too early")
            feed = stream.unconsumed_tail or rest[:_ZLIB_FEED_BYTES]
            if not stream.unconsumed_tail:
                rest = rest[_ZLIB_FEED_BYTES:]
            yield stream.decompress(feed, _PIECE_BYTES)
        if not rest and not stream.unused_data:
            return
        # A gzip body may have several members, one behind the other.
        rest = memoryview(stream.unused_data + bytes(rest))


def _zstd_pieces(compressed: bytes) -> Iterator[bytes]:
    rest = memoryview(compressed)
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    while True:
        stream = decompressor.decompressobj()
        while not stream.eof:
            if not rest:
                raise EOFError("it ends too early")
            yield stream.decompress(rest[:_ZSTD_FEED_BYTES])
            rest = rest[_ZSTD_FEED_BYTES:]
        if not rest and not stream.unused_data:
            return
        rest = memoryview(stream.unused_data + bytes(rest))
