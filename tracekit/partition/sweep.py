"""The `priority` owner: at each instant of a window the open operation of highest priority owns the time.

This is how overlapping work of one training step is told apart: with compute before communication before
copying, what communication owns is exactly the communication that compute does not hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracekit.errors import UsageError
from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.sorting import precedes, sort_descending

GAP = -1
"""Value of `SweptSegments.row` for time of a window in which no operation is open."""


@dataclass(frozen=True, eq=False)
class SweptSegments:
    """Who owns which time of each unit's window, sorted by unit and time, no segment empty.

    `row` (int64, the owner or `GAP`) owns `[start_ns, end_ns)` of `unit`. The segments of a unit follow
    each other without gap or overlap from the start to the end of its window. Two that touch have different
    owners.

    Per unit: `outside_count`, operations with a duration that lie wholly outside the window;
    `negative_duration_count`, operations that end before they start; both own nothing.
    """

    row: NDArray[np.int64]
    unit: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    outside_count: NDArray[np.int64]
    negative_duration_count: NDArray[np.int64]


class _Operations(NamedTuple):
    """Operations by number; `keys` ranks the open ones: negated priority, start, negated tie-break rank."""

    start_ns: Array
    end_ns: Array
    keys: Array
    by_start: Array
    first: Array


class _Sweep(NamedTuple):
    """The heap of open operations and the segments found so far; `found[0]` is their number."""

    heap: Array
    row: Array
    unit: Array
    start_ns: Array
    end_ns: Array
    found: Array


def priority_sweep(
    unit: ArrayLike,
    start_ns: ArrayLike,
    end_ns: ArrayLike,
    priority: ArrayLike,
    unit_start_ns: ArrayLike,
    unit_end_ns: ArrayLike,
    *,
    tiebreak: ArrayLike | None = None,
) -> SweptSegments:
    """Divide each unit's window among its operations by priority.

    One value an operation: `unit` (number of the unit), `start_ns`, `end_ns`, `priority` (0 owns before 1)
    and `tiebreak` (uint64; left out, the row number). One value a unit: the window `[unit_start_ns,
    unit_end_ns)`, empty where it ends before it starts. Among open operations of equal priority the latest
    started owns, then the smallest tie-break. Takes `O(n log n)`. Raises `UsageError` where lengths differ
    or a unit does not exist.
    """
    unit, start_ns, end_ns = (_integers(values) for values in (unit, start_ns, end_ns))
    unit_start_ns, unit_end_ns = _integers(unit_start_ns), _integers(unit_end_ns)
    ranks = np.arange(len(unit)) if tiebreak is None else _ranks(np.asarray(tiebreak, dtype=np.uint64))
    _check(unit, (start_ns, end_ns, priority, ranks), unit_start_ns, unit_end_ns)
    operations = _Operations(
        start_ns=start_ns,
        end_ns=end_ns,
        keys=np.stack([-_integers(priority), start_ns, -ranks]),
        by_start=np.empty(len(unit), dtype=np.int32),
        first=np.zeros(len(unit_start_ns) + 1, dtype=np.int64),
    )
    outside, negative = _sort_by_start(operations, unit, unit_start_ns, unit_end_ns)
    most = 2 * len(unit) + len(unit_start_ns)
    sweep = _Sweep(
        heap=np.empty(len(unit), dtype=np.int32),
        row=np.empty(most, dtype=np.int64),
        unit=np.empty(most, dtype=np.int64),
        start_ns=np.empty(most, dtype=np.int64),
        end_ns=np.empty(most, dtype=np.int64),
        found=np.zeros(1, dtype=np.int64),
    )
    _sweep_units(operations, unit_start_ns, unit_end_ns, sweep)
    columns = (column[: sweep.found[0]].copy() for column in (sweep.row, sweep.unit, sweep.start_ns, sweep.end_ns))
    return SweptSegments(*columns, outside_count=outside, negative_duration_count=negative)


def _integers(values: ArrayLike) -> NDArray[np.int64]:
    return np.require(values, dtype=np.int64, requirements=["C", "A", "W"])


def _ranks(tiebreak: NDArray[np.uint64]) -> NDArray[np.int64]:
    ranks = np.empty(len(tiebreak), dtype=np.int64)
    ranks[np.argsort(tiebreak, kind="stable")] = np.arange(len(tiebreak))
    return ranks


def _check(
    unit: NDArray[np.int64],
    columns: tuple[ArrayLike, ...],
    unit_start_ns: NDArray[np.int64],
    unit_end_ns: NDArray[np.int64],
) -> None:
    if any(np.shape(column) != unit.shape for column in columns) or unit_start_ns.shape != unit_end_ns.shape:
        raise UsageError("columns of a priority sweep differ in length; give one value an operation and one a unit")
    if len(unit) and not (unit.min() >= 0 and unit.max() < len(unit_start_ns)):
        raise UsageError(f"operations name units {unit.min()} to {unit.max()}, there are {len(unit_start_ns)}")


@kernel
def _sort_by_start(
    operations: _Operations, unit: Array, unit_start_ns: Array, unit_end_ns: Array
) -> tuple[Array, Array]:
    """Fill `by_start` unit by unit (`first` says where each begins); returns what is left out, per unit."""
    start_ns, end_ns, first = operations.start_ns, operations.end_ns, operations.first
    outside = np.zeros(unit_start_ns.shape[0], dtype=np.int64)
    negative = np.zeros(unit_start_ns.shape[0], dtype=np.int64)
    for row in range(unit.shape[0]):
        at = unit[row]
        if end_ns[row] < start_ns[row]:
            negative[at] += 1
        elif end_ns[row] > start_ns[row] and (end_ns[row] <= unit_start_ns[at] or start_ns[row] >= unit_end_ns[at]):
            outside[at] += 1
        first[at + 1] += 1
    first[:] = np.cumsum(first)
    free = first.copy()
    for row in range(unit.shape[0]):
        operations.by_start[free[unit[row]]] = row
        free[unit[row]] += 1
    earliest_first = (-start_ns).reshape(1, -1)
    spare = np.empty_like(operations.by_start)
    for at in range(unit_start_ns.shape[0]):
        sort_descending(operations.by_start, first[at], first[at + 1], spare, earliest_first)
    return outside, negative


@kernel
def _sweep_units(operations: _Operations, unit_start_ns: Array, unit_end_ns: Array, sweep: _Sweep) -> None:
    for unit in range(unit_start_ns.shape[0]):
        now_ns, stop_ns = unit_start_ns[unit], unit_end_ns[unit]
        upcoming, last = operations.first[unit], operations.first[unit + 1]
        opened = 0
        while now_ns < stop_ns:
            while upcoming < last and operations.start_ns[operations.by_start[upcoming]] <= now_ns:
                _push(sweep.heap, opened, operations.by_start[upcoming], operations.keys)
                opened += 1
                upcoming += 1
            while opened and operations.end_ns[sweep.heap[0]] <= now_ns:
                opened -= 1
                _pop(sweep.heap, opened, operations.keys)
            until_ns = stop_ns
            if upcoming < last:
                until_ns = min(until_ns, operations.start_ns[operations.by_start[upcoming]])
            if opened:
                until_ns = min(until_ns, operations.end_ns[sweep.heap[0]])
            _append(sweep, unit, now_ns, until_ns, sweep.heap[0] if opened else GAP)
            now_ns = until_ns


@kernel
def _append(sweep: _Sweep, unit: int, start_ns: int, end_ns: int, row: int) -> None:
    at = sweep.found[0]
    if at and sweep.unit[at - 1] == unit and sweep.row[at - 1] == row:
        sweep.end_ns[at - 1] = end_ns
        return
    sweep.row[at] = row
    sweep.unit[at] = unit
    sweep.start_ns[at] = start_ns
    sweep.end_ns[at] = end_ns
    sweep.found[0] = at + 1


@kernel
def _push(heap: Array, size: int, row: int, keys: Array) -> None:
    """Add `row` to a heap of `size` rows, greatest key on top."""
    at = size
    while at and precedes(keys, row, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = row


@kernel
def _pop(heap: Array, size: int, keys: Array) -> None:
    """Remove the top of a heap that has `size` rows without it."""
    row = heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and precedes(keys, heap[child + 1], heap[child]):
            child += 1
        if not precedes(keys, heap[child], row):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = row
