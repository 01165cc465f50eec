"""Slices and numbers to Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.kernels import allocating
from tracekit.kernels.unaligned import SPARE, copy_bytes, load64
from tracekit.otlp.tables.json_text import is_utf8

MAX_CHUNK_BYTES = 2**31 - 1 - SPARE
"""Arrow's `string` counts bytes in 32 bits: a longer column comes in several chunks."""


def validity(is_valid: np.ndarray | None) -> pa.Buffer | None:
    """Arrow's bitmap of the rows that are not null; none if all are."""
    if is_valid is None or is_valid.all():
        return None
    return pa.py_buffer(np.packbits(is_valid, bitorder="little"))


def numbers(values: np.ndarray, kind: pa.DataType, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A fixed-width Arrow column over numpy values of the same width, null where not valid."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [validity(is_valid), pa.py_buffer(values)])


def cast_numbers(values: np.ndarray, kind: pa.DataType, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A column of the integers of events in a narrower type; the caller has checked that they fit."""
    return numbers(values.astype(kind.to_pandas_dtype()), kind, is_valid=is_valid)


def doubles(bits: np.ndarray, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A float64 column of the bits of events."""
    return numbers(bits.view(np.float64), pa.float64(), is_valid=is_valid)


def text_chunk(offsets: np.ndarray, data: np.ndarray, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A string column over `data`; row `i` is `data[offsets[i]:offsets[i + 1]]`."""
    narrow = pa.py_buffer(offsets.astype(np.int32))
    buffers = [validity(is_valid), narrow, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def strings(
    buffer: np.ndarray, starts: np.ndarray, sizes: np.ndarray, *, is_valid: np.ndarray | None = None
) -> tuple[pa.ChunkedArray, np.ndarray]:
    """A string column of slices of a buffer (a negative size is empty), and the rows that are not UTF-8.

    The text of such a row is empty, so that the column is always sound.
    """
    sizes = np.maximum(sizes, 0).astype(np.int64)
    invalid = _invalid_rows(buffer, starts, sizes)
    sizes[invalid] = 0
    ends = np.cumsum(sizes)
    chunks, first = [], 0
    while first < len(sizes) or not chunks:
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + MAX_CHUNK_BYTES, side="right"))
        rows = slice(first, last)
        offsets, data = _copy_slices(buffer, starts[rows], sizes[rows])
        chunks.append(text_chunk(offsets, data, is_valid=None if is_valid is None else is_valid[rows]))
        first = last
    return pa.chunked_array(chunks, pa.string()), invalid


@allocating
def _invalid_rows(buffer: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    is_invalid = np.zeros(sizes.size, np.bool_)
    for row in range(sizes.size):
        is_invalid[row] = not is_utf8(buffer, starts[row], sizes[row])
    return np.flatnonzero(is_invalid)


@allocating
def _copy_slices(buffer: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(sizes.size + 1, np.int64)
    for row in range(sizes.size):
        offsets[row + 1] = offsets[row] + sizes[row]
    data = np.empty(offsets[-1] + SPARE, np.uint8)
    for row in range(sizes.size):
        copy_bytes(buffer, starts[row], sizes[row], data, offsets[row])
    return offsets, data


@allocating
def _id_words(buffer: np.ndarray, starts: np.ndarray, sizes: np.ndarray, word_count: int) -> np.ndarray:
    words = np.zeros((starts.size, word_count), np.uint64)
    for row in range(starts.size):
        if sizes[row] == 8 * word_count:
            for word in range(word_count):
                words[row, word] = load64(buffer, starts[row] + 8 * word)
    return words


def id_words(buffer: np.ndarray, starts: np.ndarray, sizes: np.ndarray, *, size_bytes: int) -> np.ndarray:
    """`[row, word]`: the ids as words of eight bytes in memory order; zero where the size is another."""
    return _id_words(buffer, starts, sizes, size_bytes // 8)


def is_zero(words: np.ndarray) -> np.ndarray:
    """`[row]`: whether all bytes of the id are zero."""
    return (words[:, 0] | words[:, -1]) == 0  # an id has one or two words


def trace_ids(words: np.ndarray, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A column of 16-byte ids."""
    return numbers(words, pa.binary(16), is_valid=is_valid)


def span_ids(words: np.ndarray, *, is_valid: np.ndarray | None = None) -> pa.Array:
    """A column of 8-byte ids as the number that their bytes are, the first byte the highest."""
    return numbers(words[:, 0].byteswap(), pa.uint64(), is_valid=is_valid)
