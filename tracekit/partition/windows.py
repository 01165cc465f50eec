"""What the owned windows say: exclusive time of each row, and the segments that cover a root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UsageError
from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.result import Partition


def self_ns(
    partition: Partition,
    cut_start_ns: NDArray[np.int64] | None = None,
    cut_end_ns: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Exclusive nanoseconds of each row: its window less its children's windows.

    `cut_start_ns` and `cut_end_ns`, one value a key, restrict the answer to `[cut_start, cut_end)`; this is
    how the time to the first token and the decoding after it are told apart. Left out, the whole time
    counts. The sum over the primary rows of a key is the length of its root inside the cut, to the
    nanosecond, and no value is negative. A cut that ends before it starts is empty. Raises `UsageError`
    where a cut has not one value a key.
    """
    bounds = np.iinfo(np.int64)
    return _self_ns(
        partition.key,
        partition.effective_parent,
        partition.window_start_ns,
        partition.window_end_ns,
        _cut(cut_start_ns, bounds.min, partition.key_count),
        _cut(cut_end_ns, bounds.max, partition.key_count),
    )


def _cut(values: NDArray[np.int64] | None, default: int, keys: int) -> NDArray[np.int64]:
    if values is None:
        return np.full(keys, default, dtype=np.int64)
    if np.shape(values) != (keys,):
        raise UsageError(f"a cut has shape {np.shape(values)} for {keys} keys; give one value a key")
    return np.require(values, dtype=np.int64, requirements=["C", "A", "W"])


@kernel
def _self_ns(
    key: Array, parent: Array, start_ns: Array, end_ns: Array, cut_start_ns: Array, cut_end_ns: Array
) -> Array:
    exclusive_ns = np.zeros(key.shape[0], dtype=np.int64)
    for row in range(key.shape[0]):
        low_ns = max(start_ns[row], cut_start_ns[key[row]])
        high_ns = min(end_ns[row], cut_end_ns[key[row]])
        if high_ns > low_ns:
            exclusive_ns[row] += high_ns - low_ns
            if parent[row] >= 0:
                exclusive_ns[parent[row]] -= high_ns - low_ns
    return exclusive_ns


@dataclass(frozen=True, eq=False)
class OwnedSegments:
    """Who owns which time: `row` owns `[start_ns, end_ns)`, sorted by key and time, no segment empty.

    Within a key the segments follow each other without gap or overlap from the start to the end of the
    primary root; two that touch belong to different rows.
    """

    row: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]


def owned_segments(partition: Partition) -> OwnedSegments:
    """The disjoint segments that cover the primary root of every key, each with the row that owns it."""
    is_open = partition.window_end_ns > partition.window_start_ns
    windowed = np.flatnonzero(is_open & partition.is_primary)
    parent = partition.effective_parent[windowed]
    child = windowed[np.lexsort((partition.window_start_ns[windowed], parent))]
    child = child[partition.effective_parent[child] >= 0]
    before = _gaps_before_children(partition, child)
    after = _tails_after_children(partition, windowed, child)
    row, start_ns, end_ns = (np.concatenate(parts) for parts in zip(before, after, strict=True))
    kept = end_ns > start_ns
    row, start_ns, end_ns = row[kept], start_ns[kept], end_ns[kept]
    by_time = np.lexsort((start_ns, partition.key[row]))
    return OwnedSegments(row=row[by_time], start_ns=start_ns[by_time], end_ns=end_ns[by_time])


_Segments = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _gaps_before_children(partition: Partition, child: NDArray[np.int64]) -> _Segments:
    """A parent's own time between each child and the one before it; children are by parent, then time."""
    parent = partition.effective_parent[child]
    start_ns = partition.window_start_ns[parent]
    follows = parent[1:] == parent[:-1]
    start_ns[1:][follows] = partition.window_end_ns[child[:-1]][follows]
    return parent, start_ns, partition.window_start_ns[child]


def _tails_after_children(partition: Partition, windowed: NDArray[np.int64], child: NDArray[np.int64]) -> _Segments:
    """Each windowed row's own time after its last windowed child, all of it where there is none."""
    start_ns = partition.window_start_ns.copy()
    np.maximum.at(start_ns, partition.effective_parent[child], partition.window_end_ns[child])
    return windowed, start_ns[windowed], partition.window_end_ns[windowed]
