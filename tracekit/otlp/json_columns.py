"""Columns of JSON text: attribute lists and log bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.otlp.attributes import Lists, Source, new_lists, put_attributes, put_body
from tracekit.otlp.columns import MAX_CHUNK_BYTES, strings, text_chunk
from tracekit.otlp.fields import CODE, DOUBLE, FAULT, PLAN
from tracekit.otlp.native import outlined
from tracekit.otlp.pivot import entries_of
from tracekit.otlp.reasons import Reason
from tracekit.otlp.words import SPARE

_MINUS, _CAPITAL_I = ord("-"), ord("I")
_LEAST_CHUNK_BYTES = 1 << 12
_MOST_CHUNK_BYTES = 1 << 28
_IS_DOUBLE = PLAN.fields["kind"] == DOUBLE
_IS_VALUE_DOUBLE = (PLAN.fields["member"] > 0) & _IS_DOUBLE


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


def number_texts(tape: np.ndarray, entry_count: int) -> np.ndarray:
    """Turns the doubles of attribute values into slices of the array that is given back.

    The texts are the shortest that read back as the same double; `nan`, `inf` and `-inf` stand for what is
    not finite.
    """
    entries = entries_of(tape, entry_count, _IS_VALUE_DOUBLE)
    if len(entries) == 0:
        return np.zeros(SPARE, np.uint8)
    texts = pa.array(tape["value"][entries].view(np.float64)).cast(pa.large_string())
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int64, len(entries) + 1)
    tape["value"][entries] = starts[:-1]
    tape["aux"][entries] = np.diff(starts)
    return np.concatenate([np.frombuffer(data, np.uint8, starts[-1]), np.zeros(SPARE, np.uint8)])


def json_doubles(tape: np.ndarray, entry_count: int, buffer: np.ndarray) -> None:
    """Turns the doubles of a JSON tape from text into numbers; one beyond the range of doubles becomes a
    fault.
    """
    entries = entries_of(tape, entry_count, _IS_DOUBLE)
    if len(entries) == 0:
        return
    starts = tape["value"][entries]
    texts, _ = strings(buffer, starts, tape["aux"][entries])
    values = texts.cast(pa.float64()).to_numpy()
    is_outside = np.isinf(values) & (buffer[starts + (buffer[starts] == _MINUS)] != _CAPITAL_I)
    tape["value"][entries] = np.where(is_outside, starts, values.view(np.int64))
    outside = int(Reason.NUMBER_OUT_OF_RANGE) << 16 | tape["code"][entries].astype(np.int32)
    tape["aux"][entries] = np.where(is_outside, outside, 0)
    tape["code"][entries[is_outside]] = FAULT


def attribute_column(source: Source, entries: np.ndarray, field: str) -> JsonColumn:
    """The attributes `field` of the records at tape entries as JSON objects, null where a record has none."""
    return _column(source, entries, field, put_all_attributes)


def body_column(source: Source, entries: np.ndarray, field: str) -> JsonColumn:
    """The `AnyValue` in `field` of the records at tape entries as JSON text, null where it is empty."""
    return _column(source, entries, field, put_all_bodies)


def _column(
    source: Source, entries: np.ndarray, field: str, put_all: Callable[..., tuple[int, int]]
) -> JsonColumn:
    """Writes chunk after chunk; a row whose own text is beyond what a chunk holds is null and told."""
    lists = new_lists(_most_entries(source.tape["aux"], entries))
    repeated, invalid = np.zeros(len(entries), np.int32), np.zeros(len(entries), np.bool_)
    capacity, too_large = _first_capacity(source, entries), []
    chunks, first = [], 0
    while first < len(entries) or not chunks:
        out, offsets = np.empty(capacity, np.uint8), np.empty(len(entries) - first + 1, np.int64)
        limit = min(MAX_CHUNK_BYTES, capacity - SPARE)
        last, needed = put_all(
            source, entries, first, CODE[field], out, offsets, repeated, invalid, lists, limit
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
        pa.chunked_array(chunks, pa.string()), repeated, np.flatnonzero(invalid), np.array(too_large, int)
    )


def _most_entries(aux: np.ndarray, entries: np.ndarray) -> int:
    return int((aux[entries] - entries).max(initial=0))


def _first_capacity(source: Source, entries: np.ndarray) -> int:
    """Bytes that the text will hardly exceed: pages that are not needed are not touched."""
    return min(
        max(len(source.buffer) + 2 * len(entries), _LEAST_CHUNK_BYTES), _MOST_CHUNK_BYTES, MAX_CHUNK_BYTES
    )


@outlined
def put_all_attributes(
    source: Source, entries: np.ndarray, first: int, code: int, out: np.ndarray, offsets: np.ndarray,
    repeated: np.ndarray, invalid: np.ndarray, lists: Lists, limit: int,
) -> tuple[int, int]:  # fmt: skip
    """Writes the attributes of rows `first` and on while they fit; gives the next row and the bytes that it
    needs.
    """
    at = np.int64(0)
    offsets[0] = 0
    for row in range(first, entries.size):
        start = at
        at, again, wrong = put_attributes(source, entries[row], code, out, at, lists)
        if at > limit:
            return row, at - start
        offsets[row - first + 1] = at
        repeated[row], invalid[row] = again, wrong > 0
    return entries.size, 0


@outlined
def put_all_bodies(
    source: Source, entries: np.ndarray, first: int, code: int, out: np.ndarray, offsets: np.ndarray,
    repeated: np.ndarray, invalid: np.ndarray, lists: Lists, limit: int,
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
