"""The one hash table: stretches of bytes, with open addressing and a secret of the process.

Keys come from outside. Whoever could choose some that all fall into one slot would make each step as long as the
table is full, so the hash has two words of a secret in it that is drawn anew in every process. No result depends
on it: it decides only where in the table a key lies.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels.compiling import kernel
from tracekit.kernels.native import allocating, index, inlined
from tracekit.kernels.unaligned import first_bytes, folded_product, load64, same_bytes

SECRET: NDArray[np.uint64] = np.frombuffer(secrets.token_bytes(16), np.uint64) | np.uint64(1)
"""The secret of this process: handed to kernels as an argument, since what they name is kept on disk with them."""

SLOT = np.dtype([("group", np.int64), ("start", np.int64), ("size", np.int32), ("number", np.int32)])
"""A key: its group, its bytes in the buffer, and how many were put before it."""

_LEAST_SLOTS = 16


class KeyTable(NamedTuple):
    """Distinct keys. A key is a group (from 0) and a stretch of a buffer, for example an attribute's name."""

    slots: np.ndarray
    """`SLOT`s, a power of two of them and at most half of them taken."""
    oldest: np.ndarray
    """`[0]`: a slot with a lower group is empty; raising it empties the table."""
    count: np.ndarray
    """`[0]`: keys that were put."""
    secret: np.ndarray


def key_table(room: int, *, secret: NDArray[np.uint64] = SECRET) -> KeyTable:
    """An empty table for `room` keys."""
    slots = np.zeros(max(_LEAST_SLOTS, 1 << int(2 * room - 1).bit_length()), SLOT)
    slots["group"] = -1
    return KeyTable(slots, np.zeros(1, np.int64), np.zeros(1, np.int64), secret)


@inlined
def hash_bytes(buffer: np.ndarray, start: int, size: int, secret: np.ndarray) -> tuple[int, int]:
    """A hash of a stretch of bytes, and all its words over each other."""
    seen, hashed = np.uint64(0), secret[0] ^ np.uint64(size)
    for place in range(start, start + size, 8):
        word = load64(buffer, place)
        if start + size - place < 8:
            word = first_bytes(word, start + size - place)
        seen |= word
        hashed = folded_product(hashed ^ word, secret[1])
    return hashed, seen


@inlined
def find(table: KeyTable, buffer: np.ndarray, group: int, start: int, size: int, hashed: int) -> int:
    """The slot that has a key, or the empty one where it belongs; `hashed` is the `hash_bytes` of the key."""
    mask, oldest = table.slots.size - 1, table.oldest[0]
    mixed = folded_product(np.uint64(hashed) ^ np.uint64(group), table.secret[1])
    place = np.int64(mixed & np.uint64(mask))
    while table.slots[index(place)].group >= oldest:
        slot = table.slots[index(place)]
        is_alike = slot.group == group and slot.size == size
        if is_alike and same_bytes(buffer, start, buffer, slot.start, size):
            break
        place = (place + 1) & mask
    return place


@inlined
def holds(table: KeyTable, place: int) -> bool:
    """Whether there is a key in a slot."""
    return table.slots[index(place)].group >= table.oldest[0]


@inlined
def put(table: KeyTable, place: int, group: int, start: int, size: int) -> None:
    """Puts a key in the empty slot where it belongs."""
    slot = table.slots[index(place)]
    slot.group, slot.start, slot.size, slot.number = group, start, size, table.count[0]
    table.count[0] += 1


@allocating
def grown(table: KeyTable, buffer: np.ndarray) -> KeyTable:
    """The same keys with twice the room."""
    slots = np.zeros(2 * table.slots.size, table.slots.dtype)
    for place in range(slots.size):
        slots[place].group = -1
    more = KeyTable(slots, table.oldest, table.count, table.secret)
    for place in range(table.slots.size):
        old = table.slots[place]
        if old.group >= table.oldest[0]:
            hashed, _ = hash_bytes(buffer, old.start, np.int64(old.size), table.secret)
            new = slots[find(more, buffer, old.group, old.start, np.int64(old.size), hashed)]
            new.group, new.start, new.size, new.number = old.group, old.start, old.size, old.number
    return more


def keys_in_order(table: KeyTable) -> np.ndarray:
    """The `SLOT`s of all keys in the order in which they were put."""
    taken = table.slots[table.slots["group"] >= table.oldest[0]]
    return taken[np.argsort(taken["number"])]


def first_rows(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row of `keys` (rows, words), the first row that has the same key."""
    bytes_of_all = np.ascontiguousarray(keys).reshape(-1).view(np.uint8)
    first = np.empty(len(keys), np.int64)
    _first_rows(bytes_of_all, 8 * keys.shape[1], key_table(len(keys)), first)
    return first


@kernel
def _first_rows(keys: np.ndarray, key_bytes: int, table: KeyTable, first: np.ndarray) -> None:
    for row in range(first.size):
        start = row * key_bytes
        hashed, _ = hash_bytes(keys, start, key_bytes, table.secret)
        place = find(table, keys, 0, start, key_bytes, hashed)
        if not holds(table, place):
            put(table, place, 0, start, key_bytes)
        first[row] = table.slots[place].start // key_bytes
