"""The distinct attribute keys of each group of records, noted while their attributes are written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.otlp.native import index, kernel
from tracekit.otlp.words import same_bytes

_ROOM = 1 << 11
_MIX = np.uint64(0x9E3779B97F4A7C15)


class KnownKeys(NamedTuple):
    """Keys that were seen: a hash table, without room for nothing is noted."""

    slots: np.ndarray
    """Number of the key in a slot, -1 for none."""
    found: np.ndarray
    """`[key]`: group, first byte in the buffer, size."""
    count: np.ndarray
    """`[0]`: how many keys there are; one more than there is room for when some were left out."""
    group: np.ndarray
    """`[0]`: the group of the record that is being written."""


def known_keys(*, is_wanted: bool) -> KnownKeys:
    """A table that notes keys, or one that does not."""
    room = _ROOM if is_wanted else 0
    return KnownKeys(
        np.full(4 * room, -1, np.int64), np.zeros((room, 3), np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    )


@kernel
def note_key(known: KnownKeys, buffer: np.ndarray, start: int, size: int, text_hash: int) -> None:
    """Notes a key of the current group unless it is known; `text_hash` depends on its text only."""
    room = known.found.shape[0]
    if known.count[0] > room or room == 0:
        return
    group, mask = known.group[0], known.slots.size - 1
    slot = np.int64((np.uint64(text_hash) ^ np.uint64(group) * _MIX) >> np.uint64(1)) & mask
    while known.slots[index(slot)] >= 0:
        key = index(known.slots[index(slot)])
        is_same = known.found[key, 0] == group and known.found[key, 2] == size
        if is_same and same_bytes(buffer, known.found[key, 1], buffer, start, size):
            return
        slot = (slot + 1) & mask
    number = known.count[0]
    known.count[0] = number + 1
    if number < room:
        known.slots[slot] = number
        known.found[number, 0], known.found[number, 1], known.found[number, 2] = group, start, size
