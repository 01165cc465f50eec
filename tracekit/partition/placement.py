"""The partition of each root's time among its operations: steps 2 to 5, top-down, one pass over each tree."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UsageError
from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.cleaning import CleanForest, clean
from tracekit.partition.defects import PlacedRows, count_defects
from tracekit.partition.forest import NO_WAIT, Forest
from tracekit.partition.ownership import (
    MILLION,
    Siblings,
    own_last_finishers,
    own_latest_open,
    tolerated_end_ns,
)
from tracekit.partition.result import Partition
from tracekit.partition.skew import Skew, edge_shift_ns

Rule = Literal["critical", "active_last"]


class _Trees(NamedTuple):
    """What the pass over the trees reads (links, shifts) and writes (order, place of each row)."""

    parent: Array
    first_child: Array
    next_sibling: Array
    start_ns: Array
    shift_ns: Array
    depth: Array
    tree: Array
    order: Array
    spare: Array


def partition(
    forest: Forest,
    *,
    rule: Rule = "critical",
    overlap_tolerance: float = 0.05,
    skew: Skew | None = None,
) -> Partition:
    """Divide the wall time of every root among the operations below it, exactly.

    Every tree (primary root, extra roots, asynchronous subtrees) gets its own partition: each row owns a
    window inside the window of its parent, windows of siblings are disjoint, and what no child owns is the
    parent's self time, so the self times of a tree sum to the duration of its root to the nanosecond.

    Rules: `critical` is the chain of last finishers, where a sibling counts as finished when no more than
    `overlap_tolerance` (0 up to, not including, 1; a millionth at the finest) of its own duration remains;
    an explicit `waits_for` beats the timing. `active_last` gives each instant to the open sibling that
    finishes last, knows no tolerance and no `waits_for`. The difference of the two shows what timing alone
    cannot tell.

    `skew`, from `estimate_skew`, corrects clocks before clipping. Raises `UsageError` for an unknown rule
    or a tolerance out of range.
    """
    tolerance_ppm = _tolerance_ppm(rule, overlap_tolerance)
    trees_given = clean(forest)
    shift_ns = edge_shift_ns(forest, trees_given, skew)
    siblings, trees = _work_columns(forest, trees_given, shift_ns)
    _place_trees(trees, siblings, tolerance_ppm, rule == "critical")
    return _result(trees_given, siblings, trees, rule)


def _tolerance_ppm(rule: str, overlap_tolerance: float) -> int:
    if rule not in ("critical", "active_last"):
        raise UsageError(f"unknown partition rule {rule!r}; use 'critical' or 'active_last'")
    if not 0 <= overlap_tolerance < 1:
        raise UsageError(f"overlap tolerance {overlap_tolerance} is out of range; give at least 0 and under 1")
    return round(overlap_tolerance * MILLION) if rule == "critical" else 0


def _work_columns(forest: Forest, given: CleanForest, shift_ns: NDArray[np.int64]) -> tuple[Siblings, _Trees]:
    rows = len(given.key)
    keys = np.empty((5, rows), dtype=np.int64)
    keys[2] = given.end_ns
    # The order of unsigned numbers as an order of signed ones.
    keys[4] = (given.tiebreak ^ np.uint64(1 << 63)).view(np.int64)
    waits_for = np.full(rows, NO_WAIT, dtype=np.int64) if rows > given.given_rows else forest.waits_for
    waits_for[: given.given_rows] = forest.waits_for
    first_child, next_sibling = _child_links(given.parent)
    siblings = Siblings(
        keys=keys,
        window_start_ns=np.empty(rows, dtype=np.int64),
        window_end_ns=np.empty(rows, dtype=np.int64),
        waits_for=waits_for,
        parent=given.parent,
        key=given.key,
        unused_wait_count=np.zeros(len(given.root_row), dtype=np.int64),
    )
    trees = _Trees(
        parent=given.parent,
        first_child=first_child,
        next_sibling=next_sibling,
        start_ns=given.start_ns.copy(),
        shift_ns=shift_ns,
        depth=np.zeros(rows, dtype=np.int32),
        tree=np.empty(rows, dtype=np.int64),
        order=np.empty(rows, dtype=np.int32),
        spare=np.empty(rows, dtype=np.int32),
    )
    return siblings, trees


@kernel
def _child_links(parent: Array) -> tuple[Array, Array]:
    """First child of each row and next child of the same parent, in row order; -1 ends a list."""
    first_child = np.full(parent.shape[0], -1, dtype=np.int32)
    next_sibling = np.full(parent.shape[0], -1, dtype=np.int32)
    for row in range(parent.shape[0] - 1, -1, -1):
        if parent[row] >= 0:
            next_sibling[row] = first_child[parent[row]]
            first_child[parent[row]] = row
    return first_child, next_sibling


@kernel
def _place_trees(trees: _Trees, siblings: Siblings, tolerance_ppm: int, is_critical: bool) -> None:
    """Visit every tree breadth first, so that `order` lists parents before children, tree by tree."""
    done = 0
    for root in range(trees.parent.shape[0]):
        if trees.parent[root] >= 0:
            continue
        _place_root(trees, siblings, root)
        trees.order[done] = root
        found = done + 1
        while done < found:
            row = trees.order[done]
            low, found = found, _append_children(trees, row, found)
            done += 1
            if low == found:
                continue
            owners = _clip_children(trees, siblings, row, low, found, tolerance_ppm)
            start_ns, end_ns = siblings.window_start_ns[row], siblings.window_end_ns[row]
            if start_ns >= end_ns:
                continue
            if is_critical:
                own_last_finishers(siblings, trees.order, low, owners, trees.spare, start_ns, end_ns)
            else:
                own_latest_open(siblings, trees.order, low, owners, trees.spare, start_ns, end_ns)


@kernel
def _place_root(trees: _Trees, siblings: Siblings, root: int) -> None:
    trees.tree[root] = root
    siblings.keys[1, root] = siblings.keys[2, root]
    siblings.keys[3, root] = -trees.start_ns[root]
    siblings.window_start_ns[root] = trees.start_ns[root]
    siblings.window_end_ns[root] = siblings.keys[2, root]


@kernel
def _append_children(trees: _Trees, row: int, found: int) -> int:
    child = trees.first_child[row]
    while child >= 0:
        trees.order[found] = child
        found += 1
        child = trees.next_sibling[child]
    return found


@kernel
def _clip_children(trees: _Trees, siblings: Siblings, parent: int, low: int, high: int, tolerance_ppm: int) -> int:
    """Place the children `order[low:high]`; those that can own time come first, returns where they end."""
    owners = low
    for at in range(low, high):
        row = trees.order[at]
        trees.tree[row] = trees.tree[parent]
        trees.depth[row] = trees.depth[parent] + 1
        if trees.shift_ns.shape[0]:
            trees.shift_ns[row] += trees.shift_ns[parent]
            trees.start_ns[row] += trees.shift_ns[row]
            siblings.keys[2, row] += trees.shift_ns[row]
        if _clip(siblings, parent, row, trees.start_ns[row], tolerance_ppm):
            trees.order[at], trees.order[owners] = trees.order[owners], row
            owners += 1
    return owners


@kernel
def _clip(siblings: Siblings, parent: int, row: int, raw_start_ns: int, tolerance_ppm: int) -> bool:
    """Cut a row to its parent's clipped interval; returns whether anything is left of it."""
    keys = siblings.keys
    earliest_ns, latest_ns = -keys[3, parent], keys[1, parent]
    start_ns = min(max(raw_start_ns, earliest_ns), latest_ns)
    end_ns = max(min(keys[2, row], latest_ns), start_ns)
    keys[0, row] = tolerated_end_ns(start_ns, end_ns, tolerance_ppm)
    keys[1, row] = end_ns
    keys[3, row] = -start_ns
    siblings.window_start_ns[row] = start_ns
    siblings.window_end_ns[row] = start_ns
    return end_ns > start_ns


def _result(given: CleanForest, siblings: Siblings, trees: _Trees, rule: Rule) -> Partition:
    placed = PlacedRows(
        key=given.key,
        tree=trees.tree,
        start_ns=trees.start_ns,
        end_ns=siblings.keys[2],
        clipped_start_ns=np.negative(siblings.keys[3], out=siblings.keys[3]),
        clipped_end_ns=siblings.keys[1],
        window_start_ns=siblings.window_start_ns,
        window_end_ns=siblings.window_end_ns,
        shift_ns=trees.shift_ns,
    )
    columns = placed._asdict()
    if not len(trees.shift_ns):
        columns["shift_ns"] = np.zeros(len(given.key), dtype=np.int64)
    return Partition(
        **columns,
        rule=rule,
        given_rows=given.given_rows,
        effective_parent=given.parent,
        depth=trees.depth,
        is_primary=trees.tree == given.root_row[given.key],
        order=trees.order,
        tiebreak=given.tiebreak,
        missing_parent_id=given.missing_parent_id,
        root_row=given.root_row,
        root_start_ns=_of_root(trees.start_ns, given.root_row),
        root_end_ns=_of_root(placed.end_ns, given.root_row),
        defects=count_defects(given, placed, siblings.unused_wait_count),
    )


def _of_root(column: NDArray[np.int64], root_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Value of each key's root, 0 for a key without rows."""
    values = np.zeros(len(root_row), dtype=np.int64)
    values[root_row >= 0] = column[root_row[root_row >= 0]]
    return values
