"""Which rows have the same key, found by a hash table in one pass."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Ids come from outside: a seed of one's own keeps anybody from choosing ids that all fall into one slot.
_SEED: Any = np.uint64(secrets.randbits(64))


def first_rows(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row of `keys` (rows, words), the first row that has the same key."""
    found: NDArray[np.int64] = _first_rows(np.ascontiguousarray(keys), _SEED)
    return found


@njit(nogil=True, cache=True)
def _first_rows(keys: np.ndarray, seed: int) -> np.ndarray:
    row_count = keys.shape[0]
    slot_count = 16
    while slot_count < 2 * row_count:
        slot_count *= 2
    slots = np.full(slot_count, -1, np.int64)
    first = np.empty(row_count, np.int64)
    for row in range(row_count):
        slot = _slot(keys[row], seed, slot_count)
        while slots[slot] >= 0 and not _equal(keys[slots[slot]], keys[row]):
            slot = (slot + 1) & (slot_count - 1)
        if slots[slot] < 0:
            slots[slot] = row
        first[row] = slots[slot]
    return first


@njit(nogil=True, cache=True, inline="always")
def mix(key: np.ndarray, seed: Any) -> Any:
    """A hash of the words of a key: the finaliser of MurmurHash3, over each word in turn."""
    mixed = seed
    for word in key:
        mixed ^= word
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        mixed ^= mixed >> np.uint64(33)
    return mixed


@njit(nogil=True, cache=True, inline="always")
def _slot(key: np.ndarray, seed: Any, slot_count: int) -> Any:
    return np.int64(mix(key, seed) & np.uint64(slot_count - 1))


@njit(nogil=True, cache=True, inline="always")
def _equal(left: np.ndarray, right: np.ndarray) -> bool:
    for word in range(left.size):  # noqa: SIM110 - compiled
        if left[word] != right[word]:
            return False
    return True
