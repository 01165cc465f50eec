"""Counts of what the placement cut, so that nothing disappears in silence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.cleaning import CleanForest
from tracekit.partition.result import Defects


class PlacedRows(NamedTuple):
    """The columns of a placed forest that the counts are made of; see `Partition` for their meaning."""

    key: Array
    tree: Array
    holder: Array
    start_ns: Array
    end_ns: Array
    clipped_start_ns: Array
    clipped_end_ns: Array
    window_start_ns: Array
    window_end_ns: Array
    shift_ns: Array


class _Counts(NamedTuple):
    orphan_ns: Array
    outside_count: Array
    outside_ns: Array
    truncated_ns: Array
    post_root_ns: Array
    shift_ns: Array
    shifted_count: Array


def count_defects(given: CleanForest, placed: PlacedRows, unused_wait_count: NDArray[np.int64]) -> Defects:
    """The defects of each key: those found while cleaning and those that placing made visible."""
    counts = _Counts(*(np.zeros(len(given.root_row), dtype=np.int64) for _ in _Counts._fields))
    _count_rows(placed, given.root_row, given.given_rows, counts)
    return Defects(
        **counts._asdict(),
        orphan_count=given.orphan_count,
        root_parent_missing=given.root_parent_missing,
        negative_duration_count=given.negative_duration_count,
        cycle_count=given.cycle_count,
        extra_root_count=given.extra_root_count,
        async_count=given.async_count,
        async_ns=given.async_ns,
        unused_wait_count=unused_wait_count,
    )


@kernel
def _count_rows(placed: PlacedRows, root_row: Array, given_rows: int, counts: _Counts) -> None:
    for row in range(placed.key.shape[0]):
        key = placed.key[row]
        root = root_row[key]
        if placed.tree[row] != root:
            continue
        if row >= given_rows:
            counts.orphan_ns[key] += placed.window_end_ns[row] - placed.window_start_ns[row]
            continue
        if row != root:
            _count_clipped(placed, row, root, key, counts)
        after_root_ns = placed.end_ns[row] - placed.end_ns[root]
        counts.post_root_ns[key] = max(counts.post_root_ns[key], after_root_ns)
        if placed.shift_ns.shape[0] and placed.shift_ns[row] != 0:
            counts.shift_ns[key] = max(counts.shift_ns[key], abs(placed.shift_ns[row]))
            counts.shifted_count[key] += 1


@kernel
def _count_clipped(placed: PlacedRows, row: int, root: int, key: int, counts: _Counts) -> None:
    """Count what was cut inside the root's time; what comes after it is `post_root_ns`."""
    start_ns, end_ns = placed.start_ns[row], min(placed.end_ns[row], placed.end_ns[root])
    holder = placed.holder[row]
    if placed.clipped_end_ns[row] > placed.clipped_start_ns[row]:
        before_ns = max(placed.start_ns[holder] - start_ns, 0)
        counts.truncated_ns[key] += before_ns + max(end_ns - max(placed.end_ns[holder], start_ns), 0)
    elif end_ns > start_ns:
        counts.outside_count[key] += 1
        counts.outside_ns[key] += end_ns - start_ns
