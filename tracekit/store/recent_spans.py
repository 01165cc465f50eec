"""Which spans came lately, in memory: what a batch costs then does not grow with the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.kernels.hash_table import SECRET, hash_bytes

_SLOT_COUNT = 1 << 22
_MINUTE_NS = 60 * 10**9
# Two years; what lies further apart may share a place.
_MINUTE_COUNT = 1 << 20
_KEY_BYTES = 24
_TAG: Any = np.uint64(0xFFFFFFFF00000000)
_INGEST: Any = np.uint64(0x00000000FFFFFFFF)


class Minutes:
    """Minutes in which spans start. It never misses one, and may take a minute for another two years apart."""

    def __init__(self) -> None:
        self._marks = np.zeros(_MINUTE_COUNT, np.bool_)

    def add(self, starts_ns: NDArray[np.int64]) -> None:
        """Note the minutes of these times."""
        self._marks[_minutes(starts_ns)] = True

    def add_all(self, other: Minutes) -> None:
        """Note all minutes of another."""
        self._marks |= other._marks

    def has(self, starts_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each time whether its minute was noted."""
        return self._marks[_minutes(starts_ns)]


def _minutes(starts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    return starts_ns // _MINUTE_NS % _MINUTE_COUNT


@dataclass(slots=True)
class _Generation:
    """A hash table of spans. A slot has the upper half of the span's hash and the span's ingest; 0 is empty."""

    slots: NDArray[np.uint64]
    minutes: Minutes = field(default_factory=Minutes)
    count: int = 0
    last_ingest_id: int = 0


@dataclass(slots=True)
class RecentSpans:
    """Remembers the spans that came last, some millions of them, each with its ingest.

    It never misses a span that it covers. It may take one for another (one in 10^9 spans), or remember one
    whose transaction was aborted or that was pruned since, so what it finds is to be looked up in the store.
    It has two tables of `slot_count` slots of 8 bytes, half full at most: when one is full, the older one is
    forgotten. One thread at a time may use it.
    """

    slot_count: int = _SLOT_COUNT
    covered_from: int = 0
    """Every span of this ingest and of later ones is remembered."""
    older_minutes: Minutes = field(default_factory=Minutes)
    """When the spans of earlier ingests start: nothing else has to be looked up among them."""
    _older: _Generation = field(init=False)
    _newer: _Generation = field(init=False)

    def __post_init__(self) -> None:
        self._older, self._newer = self._empty(), self._empty()

    @property
    def capacity(self) -> int:
        """Spans that are remembered for certain."""
        return self.slot_count // 2

    def ingests(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The ingest that each span may have come with, 0 for spans that are not remembered.

        `keys` has three words a row: two of the trace id and the span id.
        """
        found = np.zeros(len(keys), np.int64)
        for generation in (self._older, self._newer):
            if generation.count:
                _find(_bytes_of(keys), SECRET, generation.slots, found)
        return found

    def add(self, keys: NDArray[np.uint64], ingest_ids: NDArray[np.int64], starts_ns: NDArray[np.int64]) -> None:
        """Remember spans, each with its ingest and its start."""
        for first in range(0, len(keys), self.capacity):
            part = slice(first, first + self.capacity)
            self._add(keys[part], ingest_ids[part], starts_ns[part])

    def _add(self, keys: NDArray[np.uint64], ingest_ids: NDArray[np.int64], starts_ns: NDArray[np.int64]) -> None:
        if self._newer.count + len(keys) > self.capacity:
            if self._older.count:
                self.covered_from = max(self.covered_from, self._older.last_ingest_id + 1)
                self.older_minutes.add_all(self._older.minutes)
            self._older, self._newer = self._newer, self._empty()
        newer = self._newer
        newer.minutes.add(starts_ns)
        newer.count += _insert(_bytes_of(keys), ingest_ids, SECRET, newer.slots)
        newer.last_ingest_id = max(newer.last_ingest_id, int(ingest_ids.max(initial=0)))

    def _empty(self) -> _Generation:
        return _Generation(np.zeros(self.slot_count, np.uint64))


def _bytes_of(keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(keys).reshape(-1).view(np.uint8)


@kernel
def _find(keys: np.ndarray, secret: Any, slots: np.ndarray, found: np.ndarray) -> None:
    for row in range(found.size):
        hashed, _ = hash_bytes(keys, row * _KEY_BYTES, _KEY_BYTES, secret)
        slot = np.int64(hashed & np.uint64(slots.size - 1))
        while slots[slot] != 0 and (slots[slot] & _TAG) != (hashed & _TAG):
            slot = (slot + 1) & (slots.size - 1)
        if slots[slot] != 0:
            found[row] = np.int64(slots[slot] & _INGEST)


@kernel
def _insert(keys: np.ndarray, ingest_ids: np.ndarray, secret: Any, slots: np.ndarray) -> int:
    added = 0
    for row in range(ingest_ids.size):
        hashed, _ = hash_bytes(keys, row * _KEY_BYTES, _KEY_BYTES, secret)
        slot = np.int64(hashed & np.uint64(slots.size - 1))
        while slots[slot] != 0 and (slots[slot] & _TAG) != (hashed & _TAG):
            slot = (slot + 1) & (slots.size - 1)
        added += slots[slot] == 0
        slots[slot] = (hashed & _TAG) | np.uint64(ingest_ids[row])
    return added
