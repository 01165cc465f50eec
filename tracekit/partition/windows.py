"""What the owned windows say: the segments that cover a root, each with its owner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.partition.result import Partition


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
    parent = partition.holder[windowed]
    child = windowed[np.lexsort((partition.window_start_ns[windowed], parent))]
    child = child[partition.holder[child] >= 0]
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
    parent = partition.holder[child]
    start_ns = partition.window_start_ns[parent]
    follows = parent[1:] == parent[:-1]
    start_ns[1:][follows] = partition.window_end_ns[child[:-1]][follows]
    return parent, start_ns, partition.window_start_ns[child]


def _tails_after_children(partition: Partition, windowed: NDArray[np.int64], child: NDArray[np.int64]) -> _Segments:
    """Each windowed row's own time after its last windowed child, all of it where there is none."""
    start_ns = partition.window_start_ns.copy()
    np.maximum.at(start_ns, partition.holder[child], partition.window_end_ns[child])
    return windowed, start_ns[windowed], partition.window_end_ns[windowed]
