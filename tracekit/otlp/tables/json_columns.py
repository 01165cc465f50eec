"""Columns of JSON text: attribute lists and log bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.kernels import outlined
from tracekit.kernels.unaligned import SPARE
from tracekit.otlp.tables.attributes import Lists, Source, new_lists, put_attributes, put_body
from tracekit.otlp.tables.columns import MAX_CHUNK_BYTES, text_chunk
from tracekit.otlp.tables.known_keys import KnownKeys, known_keys
from tracekit.otlp.wire.fields import CODE

_LEAST_CHUNK_BYTES = 1 << 12
_MOST_CHUNK_BYTES = 1 << 28


@dataclass(frozen=True)
class JsonColumn:
    """A column of JSON text, null where there is nothing to say."""

    column: pa.ChunkedArray
    repeated: np.ndarray
    """`[row]`: number of keys that came again in one list; their first value was kept."""
    invalid: np.ndarray
    """Rows with a string that is not UTF-8 (its value is null, its attribute absent)."""
    too_large: np.ndarray
    """Rows whose text is longer than a string column can hold; they are null."""
    known: KnownKeys
    """The distinct keys of each group of rows, where they were asked for."""


def attribute_column(
    source: Source, entries: np.ndarray, field: str, *, groups: np.ndarray | None = None
) -> JsonColumn:
    """The attributes `field` of the records at events as JSON objects, null where a record has none.

    `groups` is a number for each row: the keys that occur are noted for each.
    """
    return _column(source, entries, field, put_all_attributes, groups)


def body_column(source: Source, entries: np.ndarray, field: str) -> JsonColumn:
    """The `AnyValue` in `field` of the records at events as JSON text, null where it is empty."""
    return _column(source, entries, field, put_all_bodies, None)


def _column(
    source: Source, entries: np.ndarray, field: str, put_all: Callable[..., tuple[int, int]], groups: np.ndarray | None
) -> JsonColumn:
    """Writes chunk after chunk; a row whose own text is beyond what a chunk holds is null and told."""
    known = known_keys(is_wanted=groups is not None)
    lists = new_lists(_most_entries(source.events["aux"], entries), known=known)
    groups = np.zeros(0, np.int64) if groups is None else groups.astype(np.int64)
    repeated, invalid = np.zeros(len(entries), np.int32), np.zeros(len(entries), np.bool_)
    capacity, too_large = _first_capacity(source, entries), []
    chunks, first = [], 0
    while first < len(entries) or not chunks:
        out, offsets = np.empty(capacity, np.uint8), np.empty(len(entries) - first + 1, np.int64)
        limit = min(MAX_CHUNK_BYTES, capacity - SPARE)
        last, needed = put_all(
            source, entries, groups, first, CODE[field], out, offsets, repeated, invalid, lists, limit
        )
        if last == first and limit == MAX_CHUNK_BYTES and needed <= capacity - SPARE:
            too_large.append(first)
            last += 1
            offsets[1] = 0
        if last > first or len(entries) == 0:
            offsets = offsets[: last - first + 1]
            chunks.append(text_chunk(offsets, out, is_valid=np.diff(offsets) > 0))
        capacity, first = max(capacity, needed + 2 * SPARE), last
    return JsonColumn(
        pa.chunked_array(chunks, pa.string()), repeated, np.flatnonzero(invalid), np.array(too_large, int), known
    )


def _most_entries(aux: np.ndarray, entries: np.ndarray) -> int:
    return int((aux[entries] - entries).max(initial=0))


def _first_capacity(source: Source, entries: np.ndarray) -> int:
    """Bytes that the text will hardly exceed: pages that are not needed are not touched."""
    return min(max(len(source.buffer) + 2 * len(entries), _LEAST_CHUNK_BYTES), _MOST_CHUNK_BYTES, MAX_CHUNK_BYTES)


@outlined
def put_all_attributes(
    source: Source, entries: np.ndarray, groups: np.ndarray, first: int, code: int,
    out: np.ndarray, offsets: np.ndarray, repeated: np.ndarray, invalid: np.ndarray, lists: Lists, limit: int,
) -> tuple[int, int]:  # fmt: skip
    """Writes the attributes of rows `first` and on while they fit; gives the next row and the bytes that it
    needs.
    """
    at = np.int64(0)
    offsets[0] = 0
    for row in range(first, entries.size):
        start = at
        if groups.size:
            lists.known.group[0] = groups[row]
        at, again, wrong = put_attributes(source, entries[row], code, out, at, lists)
        if at > limit:
            return row, at - start
        offsets[row - first + 1] = at
        repeated[row], invalid[row] = again, wrong > 0
    return entries.size, 0


@outlined
def put_all_bodies(
    source: Source, entries: np.ndarray, groups: np.ndarray, first: int, code: int,
    out: np.ndarray, offsets: np.ndarray, repeated: np.ndarray, invalid: np.ndarray, lists: Lists, limit: int,
) -> tuple[int, int]:  # fmt: skip
    """The same for the one value that each record holds."""
    at = np.int64(0)
    offsets[0] = 0
    for row in range(first, entries.size):
        start = at
        at, again, wrong = put_body(source, entries[row], code, out, at, lists)
        if at > limit:
            return row, at - start
        offsets[row - first + 1] = at
        repeated[row], invalid[row] = again, wrong > 0
    return entries.size, 0
