"""Step 3 of the partition: where each row hangs, that is, whose time it can take part in.

A row that ends after its parent did not hold it: it takes part in the time of the nearest ancestor that ends
after it. Along the holders of a row clipped intervals only grow, so that ancestor is found by jumps, in
logarithmic time at any depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import inlined, kernel
from tracekit.partition.arrays import Array
from tracekit.partition.cleaning import CleanForest
from tracekit.partition.forest import NO_WAIT, Forest
from tracekit.partition.ownership import tolerated_end_ns

NEVER_HELD_NS = np.iinfo(np.int64).min
"""Value of `Hung.held_until_ns` for a row that may own time from its start on."""


class Hung(NamedTuple):
    """Columns, one value a row.

    start_ns, end_ns : with clocks corrected; shift_ns : the correction (no values where nothing is shifted).
    tree, depth : root and depth in the tree as it was given.
    holder : the row whose time this one takes part in: the parent, or an ancestor that ends later; -1 for a root.
    held_count : rows that it holds.
    held_until_ns : the row owns nothing before this time, because the child of its holder that it came by does.
    waits_for : as given, and the row that it came by, where that yields to it.
    is_left_out : the row outlives the root of its tree, so that it may not have held anything.
    """

    start_ns: Array
    end_ns: Array
    shift_ns: Array
    tree: Array
    depth: Array
    holder: Array
    held_count: Array
    held_until_ns: Array
    waits_for: Array
    is_left_out: Array


class _Climb(NamedTuple):
    """What finding a holder needs: clipped intervals, levels and jumps; `came_by` is the holder's child passed."""

    clipped_start_ns: Array
    clipped_end_ns: Array
    level: Array
    jump: Array
    came_by: Array
    is_call: Array


def hang(
    forest: Forest,
    given: CleanForest,
    shift_ns: NDArray[np.int64],
    *,
    tolerance_ppm: int,
    climbs: bool,
    prefers_known: bool,
) -> Hung:
    """Find the holder of every row; without `climbs` it is the parent, and what outlives that is cut.

    A row that outlives a call's client as its server yields to nothing: the client only waited for it. Any
    other row begins to own where the child of its holder that it came by ends. `prefers_known` turns that round
    where that child holds nothing and the row does.
    """
    rows = len(given.key)
    hung = _columns(forest, given, shift_ns)
    climb = _Climb(
        clipped_start_ns=np.empty(rows, dtype=np.int64),
        clipped_end_ns=np.empty(rows, dtype=np.int64),
        level=np.zeros(rows, dtype=np.int32),
        jump=np.empty(rows, dtype=np.int32),
        came_by=np.full(rows, -1, dtype=np.int32),
        is_call=_calls(forest, given),
    )
    first_child, next_sibling = child_links(given.parent)
    _hang_trees(given.parent, first_child, next_sibling, hung, climb, tolerance_ppm, climbs, given.given_rows)
    if climbs:
        _settle_overlaps(hung, climb, tolerance_ppm, prefers_known)
    return hung


def _columns(forest: Forest, given: CleanForest, shift_ns: NDArray[np.int64]) -> Hung:
    rows = len(given.key)
    waits_for = np.full(rows, NO_WAIT, dtype=np.int64)
    waits_for[: given.given_rows] = forest.waits_for
    return Hung(
        start_ns=given.start_ns.copy(),
        end_ns=given.end_ns.copy(),
        shift_ns=shift_ns,
        tree=np.empty(rows, dtype=np.int64),
        depth=np.zeros(rows, dtype=np.int32),
        holder=np.full(rows, -1, dtype=np.int64),
        held_count=np.zeros(rows, dtype=np.int32),
        held_until_ns=np.full(rows, NEVER_HELD_NS, dtype=np.int64),
        waits_for=waits_for,
        is_left_out=np.zeros(rows, dtype=np.bool_),
    )


def _calls(forest: Forest, given: CleanForest) -> NDArray[np.bool_]:
    """Which rows are servers whose parent is the client of the call."""
    is_call = np.zeros(len(given.key), dtype=np.bool_)
    server = np.flatnonzero(forest.is_server & (given.parent[: given.given_rows] >= 0))
    server = server[given.parent[server] < given.given_rows]
    is_call[server] = forest.is_client[given.parent[server]]
    return is_call


@kernel
def child_links(parent: Array) -> tuple[Array, Array]:
    """First child of each row and next child of the same parent, in row order; -1 ends a list."""
    first_child = np.full(parent.shape[0], -1, dtype=np.int32)
    next_sibling = np.full(parent.shape[0], -1, dtype=np.int32)
    for row in range(parent.shape[0] - 1, -1, -1):
        if parent[row] >= 0:
            next_sibling[row] = first_child[parent[row]]
            first_child[parent[row]] = row
    return first_child, next_sibling


@kernel
def _hang_trees(
    parent: Array,
    first_child: Array,
    next_sibling: Array,
    hung: Hung,
    climb: _Climb,
    tolerance_ppm: int,
    climbs: bool,
    given_rows: int,
) -> None:
    queue = np.empty(parent.shape[0], dtype=np.int32)
    done = 0
    for root in range(parent.shape[0]):
        if parent[root] >= 0:
            continue
        hung.tree[root] = root
        climb.jump[root] = root
        climb.clipped_start_ns[root], climb.clipped_end_ns[root] = hung.start_ns[root], hung.end_ns[root]
        queue[done] = root
        found = done + 1
        while done < found:
            row = queue[done]
            done += 1
            child = first_child[row]
            while child >= 0:
                _hang_row(hung, climb, child, row, tolerance_ppm, climbs, child < given_rows)
                queue[found] = child
                found += 1
                child = next_sibling[child]


@inlined
def _hang_row(
    hung: Hung, climb: _Climb, row: int, parent: int, tolerance_ppm: int, climbs: bool, is_given: bool
) -> None:
    root = hung.tree[parent]
    hung.tree[row] = root
    hung.depth[row] = hung.depth[parent] + 1
    if hung.shift_ns.shape[0]:
        hung.shift_ns[row] += hung.shift_ns[parent]
        hung.start_ns[row] += hung.shift_ns[row]
        hung.end_ns[row] += hung.shift_ns[row]
    start_ns, end_ns = hung.start_ns[row], hung.end_ns[row]
    holder = parent
    if climbs and start_ns < min(end_ns, hung.end_ns[root]):
        needed_ns = tolerated_end_ns(start_ns, min(end_ns, hung.end_ns[root]), tolerance_ppm)
        came_by, holder = _nearest_holder(hung.holder, climb, parent, needed_ns, end_ns)
        climb.came_by[row] = came_by
        outlives_root = tolerated_end_ns(start_ns, end_ns, tolerance_ppm) > hung.end_ns[root]
        hung.is_left_out[row] = outlives_root and is_given and not climb.is_call[row]
    hung.holder[row] = holder
    hung.held_count[holder] += 1
    earliest_ns, latest_ns = climb.clipped_start_ns[holder], climb.clipped_end_ns[holder]
    climb.clipped_start_ns[row] = min(max(start_ns, earliest_ns), latest_ns)
    climb.clipped_end_ns[row] = max(min(end_ns, latest_ns), climb.clipped_start_ns[row])
    climb.level[row] = climb.level[holder] + 1
    jump = climb.jump[holder]
    is_even = climb.level[holder] - climb.level[jump] == climb.level[jump] - climb.level[climb.jump[jump]]
    climb.jump[row] = climb.jump[jump] if is_even else holder


@inlined
def _nearest_holder(holder: Array, climb: _Climb, parent: int, needed_ns: int, end_ns: int) -> tuple[int, int]:
    """The last row passed (-1 for none) and the first from `parent` upwards that holds; the root always does."""
    came_by, at = -1, parent
    while not _holds(holder, climb, at, needed_ns, end_ns):
        jump = climb.jump[at]
        came_by, at = at, holder[at] if _holds(holder, climb, jump, needed_ns, end_ns) else jump
    return came_by, at


@inlined
def _holds(holder: Array, climb: _Climb, row: int, needed_ns: int, end_ns: int) -> bool:
    """Whether a row lasts until what hangs on it is done, and began before that was."""
    is_long = climb.clipped_end_ns[row] >= needed_ns and climb.clipped_start_ns[row] < end_ns
    return holder[row] < 0 or is_long


@kernel
def _settle_overlaps(hung: Hung, climb: _Climb, tolerance_ppm: int, prefers_known: bool) -> None:
    """Say who owns the time that a row and the one that it came by both cover."""
    for row in range(hung.holder.shape[0]):
        passed = climb.came_by[row]
        if passed < 0:
            continue
        start_ns, until_ns = climb.clipped_start_ns[row], climb.clipped_end_ns[passed]
        if not start_ns < until_ns < tolerated_end_ns(start_ns, climb.clipped_end_ns[row], tolerance_ppm):
            continue
        is_known = hung.held_count[passed] == 0 and hung.held_count[row] > 0
        if not climb.is_call[row] and is_known != prefers_known:
            hung.held_until_ns[row] = until_ns
        elif hung.waits_for[row] < 0 and climb.clipped_start_ns[passed] < start_ns:
            hung.waits_for[row] = passed
