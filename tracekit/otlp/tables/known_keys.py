"""The distinct attribute keys of each group of records, noted while their attributes are written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.kernels import inlined
from tracekit.kernels.hash_table import KeyTable, find, holds, key_table, keys_in_order, put

_ROOM = 1 << 11


class KnownKeys(NamedTuple):
    """Keys that were seen; without room for them nothing is noted."""

    table: KeyTable
    group: np.ndarray
    """`[0]`: the group of the record that is being written."""
    room: np.ndarray
    """`[0]`: how many keys are noted at most."""

    @property
    def is_complete(self) -> bool:
        """Whether no key was left out."""
        return bool(self.table.count[0] <= self.room[0])

    def in_order(self) -> np.ndarray:
        """`SLOT`s of the keys that were noted, in the order in which they came."""
        return keys_in_order(self.table)


def known_keys(*, is_wanted: bool) -> KnownKeys:
    """A table that notes keys, or one that does not."""
    room = _ROOM if is_wanted else 0
    return KnownKeys(key_table(max(room, 1)), np.zeros(1, np.int64), np.full(1, room, np.int64))


@inlined
def note_key(known: KnownKeys, buffer: np.ndarray, start: int, size: int, hashed: int) -> None:
    """Notes a key of the current group unless it is known; `hashed` is its `hash_bytes`."""
    room, count = known.room[0], known.table.count[0]
    if room == 0 or count > room:
        return
    slot = find(known.table, buffer, known.group[0], start, size, hashed)
    if holds(known.table, slot):
        return
    if count < room:
        put(known.table, slot, known.group[0], start, size)
    else:
        known.table.count[0] = count + 1
