"""Which keys the attributes of records have: all objects of a column of JSON text in one pass."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from tracekit.kernels import allocating, index, inlined
from tracekit.kernels.hash_table import KeyTable, find, grown, hash_bytes, holds, key_table, keys_in_order, put
from tracekit.kernels.unaligned import SPARE, first_special, load64

ATTRIBUTE_KEYS = pa.schema([("group", pa.int64()), ("key", pa.string())])

_QUOTE, _BACKSLASH, _COMMA = np.int64(34), np.int64(92), np.int64(44)
_OPENING, _CLOSING = (123, 91), (125, 93)
_FIRST_ROOM = 1 << 9


def attribute_keys(texts: pa.Array, groups: np.ndarray) -> pa.Table:
    """The distinct keys of the objects of each group, in the order in which they first come.

    `texts` are JSON objects as the decoder writes them, or null; `groups` a number for each row.

    Columns: `group`, `key`.
    """
    data, starts = _bytes_of(texts)
    table = _found(data, starts, np.ascontiguousarray(groups, np.int64), key_table(_FIRST_ROOM))
    found = keys_in_order(table)
    keys = [_text(data, start, size) for start, size in zip(found["start"], found["size"], strict=True)]
    return pa.table([np.ascontiguousarray(found["group"]), pa.array(keys, pa.string())], schema=ATTRIBUTE_KEYS)


def _bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of a string column, with spare ones behind, and where each row starts; null is empty."""
    if len(texts) == 0:
        return np.zeros(SPARE, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    # Arrow reserves memory in steps of 64 bytes, but need not have any left behind the last text.
    return held if held.size >= starts[-1] + SPARE else np.concatenate([held, np.zeros(SPARE, np.uint8)]), starts


def _text(data: np.ndarray, start: int, size: int) -> str:
    quoted = data[start - 1 : start + size + 1].tobytes()
    return json.loads(quoted) if b"\\" in quoted else quoted[1:-1].decode()


@allocating
def _found(data: np.ndarray, starts: np.ndarray, groups: np.ndarray, table: KeyTable) -> KeyTable:
    """The table with each distinct key, larger if need be."""
    for row in range(groups.size):
        at, end = starts[row] + 1, starts[row + 1]
        while at < end:
            start = _quote(data, at, end)
            if start >= end:
                break
            stop = _string_end(data, start + 1, end)
            hashed, _ = hash_bytes(data, start + 1, stop - start - 1, table.secret)
            slot = find(table, data, groups[row], start + 1, stop - start - 1, hashed)
            if not holds(table, slot):
                put(table, slot, groups[row], start + 1, stop - start - 1)
                if 2 * table.count[0] == table.slots.size:
                    table = grown(table, data)
            at = _value_end(data, stop + 1, end)
    return table


@inlined
def _quote(data: np.ndarray, at: int, end: int) -> int:
    """Place of the next quote, at least `end` if there is none."""
    while at < end and data[index(at)] != _QUOTE:
        at += 1
    return at


@inlined
def _string_end(data: np.ndarray, at: int, end: int) -> int:
    """Place of the quote that closes the string which `at` is inside of."""
    while at < end:
        plain = first_special(load64(data, at))
        at += plain
        if plain < 8:
            if data[index(at)] == _QUOTE:
                return at
            at += 2 if data[index(at)] == _BACKSLASH else 1
    return end


@inlined
def _value_end(data: np.ndarray, at: int, end: int) -> int:
    """Place behind the comma that ends a member's value, or behind the object."""
    depth = 0
    while at < end:
        byte = data[index(at)]
        if byte == _QUOTE:
            at = _string_end(data, at + 1, end)
        elif byte in _OPENING:
            depth += 1
        elif byte in _CLOSING:
            depth -= 1
        if depth < 0 or (depth == 0 and byte == _COMMA):
            return at + 1
        at += 1
    return end
