"""Exclusive time of every row of a partition, by its definition: a window less the windows of the children."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.partition import Partition


def self_ns(
    partition: Partition,
    cut_start_ns: NDArray[np.int64] | None = None,
    cut_end_ns: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Nanoseconds of each row, inside `[cut_start_ns, cut_end_ns)` of its key where cuts are given."""
    start_ns, end_ns = partition.window_start_ns, partition.window_end_ns
    if cut_start_ns is not None and cut_end_ns is not None:
        start_ns = np.maximum(start_ns, cut_start_ns[partition.key])
        end_ns = np.minimum(end_ns, cut_end_ns[partition.key])
    window_ns = np.maximum(end_ns - start_ns, 0)
    exclusive_ns = window_ns.copy()
    child = np.flatnonzero(partition.holder >= 0)
    np.subtract.at(exclusive_ns, partition.holder[child], window_ns[child])
    return exclusive_ns
