"""Charges the waiting of each rank to what the rank that it waited for was doing meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition import Array

NO_UNIT = -1
OUTSIDE = -1
MAX_DEPTH = 64
"""Ranks that a wait is followed across; beyond, it stays the waiting of the last rank reached."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """Owned segments of all units, sorted by unit and time, tiling each unit's window.

    Columns: `unit`, `start_ns`, `end_ns` (int64), `is_wait` (bool), `culprit_unit` (int64, the unit of the
    rank that a wait is for, or `NO_UNIT`) and `culprit_rank` (int32). `first[u]` to `first[u + 1]` are the
    segments of unit `u`, whose rank is `rank[u]`.
    """

    unit: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    is_wait: NDArray[np.bool_]
    culprit_unit: NDArray[np.int64]
    culprit_rank: NDArray[np.int32]
    first: NDArray[np.int64]


class _Segments(NamedTuple):
    start_ns: Array
    end_ns: Array
    is_wait: Array
    culprit_unit: Array
    culprit_rank: Array
    first: Array


class _Charges(NamedTuple):
    """What was charged: waiting segment, rank and segment of the culprit (or `OUTSIDE`), nanoseconds."""

    waiting: Array
    rank: Array
    segment: Array
    wait_ns: Array


def follow_waits(timeline: Timeline) -> pl.DataFrame:
    """Split every waiting segment by what the rank waited for was doing in that time.

    Where that rank was itself waiting, the time is charged to the rank that it waited for, and so on. Time
    outside the step of the rank is charged to it as `OUTSIDE`.

    Columns: `waiting` (the waiting segment), `rank` (whom the time is charged to), `segment` (what it was
    doing: a segment, or `OUTSIDE`), `wait_ns`. The rows of a waiting segment sum to its length.
    """
    segments = _Segments(
        timeline.start_ns,
        timeline.end_ns,
        timeline.is_wait,
        timeline.culprit_unit,
        timeline.culprit_rank,
        timeline.first,
    )
    room = 4 * int(timeline.is_wait.sum()) + 64
    while True:
        charges = _Charges(*(np.empty(room, dtype=np.int64) for _ in _Charges._fields))
        needed = _follow_all(segments, charges)
        if needed <= room:
            return pl.DataFrame({name: column[:needed] for name, column in charges._asdict().items()})
        room = needed


@kernel
def _follow_all(segments: _Segments, charges: _Charges) -> int:
    found = 0
    path_segment = np.empty(MAX_DEPTH, dtype=np.int64)
    path_until_ns = np.empty(MAX_DEPTH, dtype=np.int64)
    path_at_ns = np.empty(MAX_DEPTH, dtype=np.int64)
    for waiting in range(segments.start_ns.shape[0]):
        if segments.is_wait[waiting]:
            path_segment[0] = waiting
            path_at_ns[0] = segments.start_ns[waiting]
            path_until_ns[0] = segments.end_ns[waiting]
            found = _follow(segments, charges, found, path_segment, path_at_ns, path_until_ns)
    return found


@kernel
def _follow(
    segments: _Segments,
    charges: _Charges,
    found: int,
    path_segment: Array,
    path_at_ns: Array,
    path_until_ns: Array,
) -> int:
    """Walk along the time of the wait at the bottom of the path; go down wherever the culprit waits too."""
    depth = 0
    while depth >= 0:
        at_ns, until_ns = path_at_ns[depth], path_until_ns[depth]
        if at_ns >= until_ns:
            depth -= 1
            continue
        waits_in = path_segment[depth]
        segment, stop_ns = _next(segments, segments.culprit_unit[waits_in], at_ns, until_ns)
        path_at_ns[depth] = stop_ns
        if segment != OUTSIDE and segments.is_wait[segment] and depth + 1 < MAX_DEPTH:
            depth += 1
            path_segment[depth] = segment
            path_at_ns[depth] = at_ns
            path_until_ns[depth] = stop_ns
        else:
            _charge(charges, found, path_segment[0], segments.culprit_rank[waits_in], segment, stop_ns - at_ns)
            found += 1
    return found


@kernel
def _next(segments: _Segments, unit: int, at_ns: int, until_ns: int) -> tuple[int, int]:
    """The segment of a unit that is open at a time (or `OUTSIDE`), and until when, at most `until_ns`."""
    if unit == NO_UNIT:
        return OUTSIDE, until_ns
    low, high = segments.first[unit], segments.first[unit + 1]
    last = high
    while low < high:
        middle = (low + high) // 2
        if segments.end_ns[middle] <= at_ns:
            low = middle + 1
        else:
            high = middle
    if low == last:
        return OUTSIDE, until_ns
    if segments.start_ns[low] > at_ns:
        return OUTSIDE, min(until_ns, segments.start_ns[low])
    return low, min(until_ns, segments.end_ns[low])


@kernel
def _charge(charges: _Charges, at: int, waiting: int, rank: int, segment: int, wait_ns: int) -> None:
    # Beyond the room only the number of charges is of interest: the caller makes room for them.
    if at < charges.rank.shape[0]:
        charges.waiting[at] = waiting
        charges.rank[at] = rank
        charges.segment[at] = segment
        charges.wait_ns[at] = wait_ns
