"""Which keys JSON objects have at their top: all objects of a column in one pass."""

from __future__ import annotations

import json
import secrets
from typing import Any

import numpy as np
import pyarrow as pa

from tracekit.otlp.native import allocating, index, kernel
from tracekit.otlp.words import SPARE, first_bytes, first_special, load64, same_bytes

OBJECT_KEYS = pa.schema([("group", pa.int64()), ("key", pa.string())])

_QUOTE, _BACKSLASH, _COMMA = np.int64(34), np.int64(92), np.int64(44)
_OPENING, _CLOSING = (123, 91), (125, 93)
_LEAST_SLOTS = 1 << 10
# Keys come from outside: a seed of one's own keeps anybody from choosing keys that all fall into one slot.
_SEED: Any = np.uint64(secrets.randbits(64))
_MIX = np.uint64(0x9E3779B97F4A7C15)


def object_keys(texts: pa.Array, groups: np.ndarray) -> pa.Table:
    """The distinct keys of the objects of each group, in the order in which they first come.

    `texts` are JSON objects as the decoder writes them, or null; `groups` a number for each row.

    Columns: `group`, `key`.
    """
    data, starts = _bytes_of(texts)
    found, count = _found(data, starts, np.ascontiguousarray(groups, np.int64), _SEED)
    keys = [_text(data, start, size) for _, start, size in found[:count].tolist()]
    return pa.table([found[:count, 0], pa.array(keys, pa.string())], schema=OBJECT_KEYS)


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
def _found(data: np.ndarray, starts: np.ndarray, groups: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Group, first byte and size of each distinct key, and their number."""
    slots = np.full(_LEAST_SLOTS, -1, np.int64)
    found = np.empty((_LEAST_SLOTS // 2, 3), np.int64)
    count = 0
    for row in range(groups.size):
        at, end = starts[row] + 1, starts[row + 1]
        while at < end:
            start = _quote(data, at, end)
            if start >= end:
                break
            stop = _string_end(data, start + 1, end)
            slot = _slot(slots, found, data, groups[row], start + 1, stop - start - 1, seed)
            if slots[slot] < 0:
                slots[slot] = count
                found[count, 0], found[count, 1], found[count, 2] = groups[row], start + 1, stop - start - 1
                count += 1
                if count == found.shape[0]:
                    slots, found = _grown(slots, found, data, seed)
            at = _value_end(data, stop + 1, end)
    return found, count


@kernel
def _quote(data: np.ndarray, at: int, end: int) -> int:
    """Place of the next quote, at least `end` if there is none."""
    while at < end and data[index(at)] != _QUOTE:
        at += 1
    return at


@kernel
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


@kernel
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


@kernel
def _slot(
    slots: np.ndarray, found: np.ndarray, data: np.ndarray, group: int, start: int, size: int, seed: int
) -> int:  # fmt: skip
    """The slot that has a key, or the empty one where it belongs."""
    mixed = (seed ^ np.uint64(group)) * _MIX ^ np.uint64(size)
    for place in range(start, start + size, 8):
        word = load64(data, place)
        if start + size - place < 8:
            word = first_bytes(word, start + size - place)
        mixed = (mixed ^ word) * _MIX
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed >> np.uint64(1)) & (slots.size - 1)
    while slots[index(slot)] >= 0:
        known = index(slots[index(slot)])
        is_same = found[known, 0] == group and found[known, 2] == size
        if is_same and same_bytes(data, found[known, 1], data, start, size):
            return slot
        slot = (slot + 1) & (slots.size - 1)
    return slot


@allocating
def _grown(slots: np.ndarray, found: np.ndarray, data: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twice the room, with the same keys."""
    more = np.full(2 * slots.size, -1, np.int64)
    kept = np.empty((2 * found.shape[0], 3), np.int64)
    kept[: found.shape[0]] = found
    for number in range(found.shape[0]):
        more[_slot(more, kept, data, found[number, 0], found[number, 1], found[number, 2], seed)] = number
    return more, kept
