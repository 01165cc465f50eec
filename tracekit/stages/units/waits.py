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
    """Owned segments of all units, sorted by unit and time, tiling what lies between a rank's last step and this one's
    end.

    One value a segment: `unit`, `start_ns`, `end_ns` (int64), `is_lead_in` (bool, before the window of the unit),
    `is_wait` (bool), `is_shared` (bool, a span that all ranks leave together while one of them works: followed like a
    wait), `culprit_unit` (int64, the unit of the rank that is waited for, or `NO_UNIT`) and `culprit_rank` (int32).
    `first[u]` to `first[u + 1]` are the segments of unit `u`. One value a unit: `window_start_ns`, `step_no`, and
    `previous` and `following`, the rank's units in the steps before and after, or `NO_UNIT`.
    """

    unit: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    is_lead_in: NDArray[np.bool_]
    is_wait: NDArray[np.bool_]
    is_shared: NDArray[np.bool_]
    culprit_unit: NDArray[np.int64]
    culprit_rank: NDArray[np.int32]
    first: NDArray[np.int64]
    window_start_ns: NDArray[np.int64]
    step_no: NDArray[np.int64]
    previous: NDArray[np.int64]
    following: NDArray[np.int64]


class _Segments(NamedTuple):
    start_ns: Array
    end_ns: Array
    is_followed: Array
    is_asked: Array
    unit: Array
    culprit_unit: Array
    culprit_rank: Array
    first: Array
    window_start_ns: Array
    step_no: Array
    previous: Array
    following: Array


class _Charges(NamedTuple):
    """What was charged: waiting segment, rank and segment of the culprit (or `OUTSIDE`), nanoseconds."""

    waiting: Array
    rank: Array
    segment: Array
    wait_ns: Array


def follow_waits(timeline: Timeline, *, is_asked: NDArray[np.bool_]) -> pl.DataFrame:
    """Split every waiting or shared segment that is asked about by what the rank waited for was doing in that time.

    Where that rank was itself waiting, the time is charged to the rank that it waited for, and so on. A rank that had
    not come to the step yet is followed into the time before it and into its step before, no further. Time of which
    nothing is known is charged to it as `OUTSIDE`.

    Columns: `waiting` (the waiting segment), `rank` (whom the time is charged to), `segment` (what it was
    doing: a segment, or `OUTSIDE`), `wait_ns`. The rows of a waiting segment sum to its length.
    """
    is_followed = timeline.is_wait | timeline.is_shared
    segments = _Segments(
        timeline.start_ns,
        timeline.end_ns,
        is_followed,
        is_followed & is_asked,
        timeline.unit,
        timeline.culprit_unit,
        timeline.culprit_rank,
        timeline.first,
        timeline.window_start_ns,
        timeline.step_no,
        timeline.previous,
        timeline.following,
    )
    room = 4 * int(segments.is_asked.sum()) + 64
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
        if segments.is_asked[waiting]:
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
    step_no = segments.step_no[segments.unit[path_segment[0]]]
    while depth >= 0:
        at_ns, until_ns = path_at_ns[depth], path_until_ns[depth]
        if at_ns >= until_ns:
            depth -= 1
            continue
        waits_in = path_segment[depth]
        unit = _unit_at(segments, step_no, segments.culprit_unit[waits_in], at_ns)
        segment, stop_ns = _next(segments, step_no, unit, at_ns, until_ns)
        path_at_ns[depth] = stop_ns
        if segment != OUTSIDE and segments.is_followed[segment] and depth + 1 < MAX_DEPTH:
            depth += 1
            path_segment[depth] = segment
            path_at_ns[depth] = at_ns
            path_until_ns[depth] = stop_ns
        else:
            _charge(charges, found, path_segment[0], segments.culprit_rank[waits_in], segment, stop_ns - at_ns)
            found += 1
    return found


@kernel
def _unit_at(segments: _Segments, step_no: int, unit: int, at_ns: int) -> int:
    """The unit of the same rank that is under way at a time: of the step that waits, or of the one before it."""
    if unit == NO_UNIT:
        return unit
    if segments.step_no[unit] < step_no:
        last, later = segments.first[unit + 1], segments.following[unit]
        is_over = segments.first[unit] == last or segments.end_ns[last - 1] <= at_ns
        return later if later != NO_UNIT and is_over else unit
    earlier = segments.previous[unit]
    return earlier if earlier != NO_UNIT and at_ns < _begin(segments, unit) else unit


@kernel
def _begin(segments: _Segments, unit: int) -> int:
    first = segments.first[unit]
    return segments.start_ns[first] if first < segments.first[unit + 1] else segments.window_start_ns[unit]


@kernel
def _next(segments: _Segments, step_no: int, unit: int, at_ns: int, until_ns: int) -> tuple[int, int]:
    """The segment of a unit that is open at a time (or `OUTSIDE`), and until when, at most `until_ns`."""
    if unit == NO_UNIT:
        return OUTSIDE, until_ns
    # What led into the step before does not count: a step knows the one before it and no other.
    is_earlier = segments.step_no[unit] != step_no
    if is_earlier and at_ns < segments.window_start_ns[unit]:
        return OUTSIDE, min(until_ns, segments.window_start_ns[unit])
    low, high = segments.first[unit], segments.first[unit + 1]
    last = high
    while low < high:
        middle = (low + high) // 2
        if segments.end_ns[middle] <= at_ns:
            low = middle + 1
        else:
            high = middle
    if low == last:
        later = segments.following[unit] if is_earlier else NO_UNIT
        if later != NO_UNIT and _begin(segments, later) > at_ns:
            return OUTSIDE, min(until_ns, _begin(segments, later))
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
