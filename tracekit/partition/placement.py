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
from tracekit.partition.forest import Forest
from tracekit.partition.hanging import Hung, child_links, hang
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
Outlasting = Literal["climbs", "cut"]


class _Trees(NamedTuple):
    """What the pass over the trees reads (links, shifts, who holds whom) and writes (order of the rows)."""

    holder: Array
    first_held: Array
    next_held: Array
    start_ns: Array
    is_left_out: Array
    order: Array
    spare: Array


def partition(
    forest: Forest,
    *,
    rule: Rule = "critical",
    overlap_tolerance: float = 0.05,
    skew: Skew | None = None,
    outlasting: Outlasting = "climbs",
) -> Partition:
    """Divide the wall time of every root among the operations below it, exactly.

    Every tree (primary root, extra roots, asynchronous subtrees) gets its own partition: each row owns a
    window inside the window of its parent, windows of siblings are disjoint, and what no child owns is the
    parent's self time, so the self times of a tree sum to the duration of its root to the nanosecond.

    Rules: `critical` is the chain of last finishers, where a sibling counts as finished when no more than
    `overlap_tolerance` (0 up to, not including, 1; a millionth at the finest) of its own duration remains;
    an explicit `waits_for` beats the timing. `active_last` gives each instant to the open sibling that
    finishes last, knows no tolerance among siblings and no `waits_for`. The difference of the two shows what
    timing alone cannot tell.

    A row that ends after its parent, by more than `overlap_tolerance` of its own duration, did not hold it:
    with `outlasting` `climbs` it takes part in the time of the nearest ancestor that ends after it, with `cut`
    (the rule of other tools) it stays and is cut. What it shares with the child of that ancestor that it hangs
    below is ambiguous: one rule gives it to the one, the other to the other. So is what a row owns that outlives
    the root: `active_last` gives it nothing. Only the server of a call outlives its client without doubt.

    `skew`, from `estimate_skew`, corrects clocks before clipping. Raises `UsageError` for an unknown rule
    or a tolerance out of range.
    """
    tolerance_ppm = _tolerance_ppm(rule, overlap_tolerance)
    trees_given = clean(forest)
    is_critical = rule == "critical"
    hung = hang(
        forest,
        trees_given,
        edge_shift_ns(forest, trees_given, skew),
        tolerance_ppm=tolerance_ppm,
        climbs=outlasting == "climbs",
        prefers_known=is_critical,
    )
    siblings, trees = _work_columns(trees_given, hung)
    _place_trees(trees, siblings, tolerance_ppm if is_critical else 0, is_critical)
    return _result(trees_given, siblings, hung, trees.order, rule)


def _tolerance_ppm(rule: str, overlap_tolerance: float) -> int:
    if rule not in ("critical", "active_last"):
        raise UsageError(f"unknown partition rule {rule!r}; use 'critical' or 'active_last'", option="rule", value=rule)
    if not 0 <= overlap_tolerance < 1:
        raise UsageError(
            f"overlap tolerance {overlap_tolerance} is out of range; give at least 0 and under 1",
            option="overlap_tolerance",
            value=str(overlap_tolerance),
        )
    return round(overlap_tolerance * MILLION)


def _work_columns(given: CleanForest, hung: Hung) -> tuple[Siblings, _Trees]:
    rows = len(given.key)
    keys = np.empty((5, rows), dtype=np.int64)
    keys[2] = hung.end_ns
    # The order of unsigned numbers as an order of signed ones.
    keys[4] = (given.tiebreak ^ np.uint64(1 << 63)).view(np.int64)
    first_held, next_held = child_links(hung.holder)
    siblings = Siblings(
        keys=keys,
        window_start_ns=np.empty(rows, dtype=np.int64),
        window_end_ns=np.empty(rows, dtype=np.int64),
        waits_for=hung.waits_for,
        holder=hung.holder,
        held_count=hung.held_count,
        held_until_ns=hung.held_until_ns,
        key=given.key,
        unused_wait_count=np.zeros(len(given.root_row), dtype=np.int64),
    )
    trees = _Trees(
        holder=hung.holder,
        first_held=first_held,
        next_held=next_held,
        start_ns=hung.start_ns,
        is_left_out=hung.is_left_out,
        order=np.empty(rows, dtype=np.int32),
        spare=np.empty(rows, dtype=np.int32),
    )
    return siblings, trees


@kernel
def _place_trees(trees: _Trees, siblings: Siblings, tolerance_ppm: int, is_critical: bool) -> None:
    """Visit every tree breadth first, so that `order` lists holders before what they hold, tree by tree."""
    done = 0
    for root in range(trees.holder.shape[0]):
        if trees.holder[root] >= 0:
            continue
        _place_root(trees, siblings, root)
        trees.order[done] = root
        found = done + 1
        while done < found:
            row = trees.order[done]
            low, found = found, _append_held(trees, row, found)
            done += 1
            if low == found:
                continue
            owners = _clip_held(trees, siblings, row, low, found, tolerance_ppm, is_critical)
            start_ns, end_ns = siblings.window_start_ns[row], siblings.window_end_ns[row]
            if start_ns >= end_ns:
                continue
            if is_critical:
                own_last_finishers(siblings, trees.order, low, owners, trees.spare, start_ns, end_ns)
            else:
                own_latest_open(siblings, trees.order, low, owners, trees.spare, start_ns, end_ns)


@kernel
def _place_root(trees: _Trees, siblings: Siblings, root: int) -> None:
    siblings.keys[1, root] = siblings.keys[2, root]
    siblings.keys[3, root] = -trees.start_ns[root]
    siblings.window_start_ns[root] = trees.start_ns[root]
    siblings.window_end_ns[root] = siblings.keys[2, root]


@kernel
def _append_held(trees: _Trees, row: int, found: int) -> int:
    held = trees.first_held[row]
    while held >= 0:
        trees.order[found] = held
        found += 1
        held = trees.next_held[held]
    return found


@kernel
def _clip_held(
    trees: _Trees, siblings: Siblings, holder: int, low: int, high: int, tolerance_ppm: int, is_critical: bool
) -> int:
    """Place the rows `order[low:high]`; those that can own time come first, returns where they end."""
    owners = low
    for at in range(low, high):
        row = trees.order[at]
        is_left = _clip(siblings, holder, row, trees.start_ns[row], tolerance_ppm)
        if is_left and (is_critical or not trees.is_left_out[row]):
            trees.order[at], trees.order[owners] = trees.order[owners], row
            owners += 1
    return owners


@kernel
def _clip(siblings: Siblings, holder: int, row: int, raw_start_ns: int, tolerance_ppm: int) -> bool:
    """Cut a row to its holder's clipped interval; returns whether anything is left of it."""
    keys = siblings.keys
    earliest_ns, latest_ns = -keys[3, holder], keys[1, holder]
    start_ns = min(max(raw_start_ns, earliest_ns), latest_ns)
    end_ns = max(min(keys[2, row], latest_ns), start_ns)
    keys[0, row] = tolerated_end_ns(start_ns, end_ns, tolerance_ppm)
    keys[1, row] = end_ns
    keys[3, row] = -start_ns
    siblings.window_start_ns[row] = start_ns
    siblings.window_end_ns[row] = start_ns
    return end_ns > start_ns


def _result(given: CleanForest, siblings: Siblings, hung: Hung, order: Array, rule: Rule) -> Partition:
    placed = PlacedRows(
        key=given.key,
        tree=hung.tree,
        holder=hung.holder,
        start_ns=hung.start_ns,
        end_ns=siblings.keys[2],
        clipped_start_ns=np.negative(siblings.keys[3], out=siblings.keys[3]),
        clipped_end_ns=siblings.keys[1],
        window_start_ns=siblings.window_start_ns,
        window_end_ns=siblings.window_end_ns,
        shift_ns=hung.shift_ns,
    )
    columns = placed._asdict()
    if not len(hung.shift_ns):
        columns["shift_ns"] = np.zeros(len(given.key), dtype=np.int64)
    return Partition(
        **columns,
        rule=rule,
        given_rows=given.given_rows,
        effective_parent=given.parent,
        depth=hung.depth,
        is_primary=hung.tree == given.root_row[given.key],
        order=order,
        tiebreak=given.tiebreak,
        missing_parent_id=given.missing_parent_id,
        root_row=given.root_row,
        root_start_ns=_of_root(hung.start_ns, given.root_row),
        root_end_ns=_of_root(placed.end_ns, given.root_row),
        defects=count_defects(given, placed, siblings.unused_wait_count),
    )


def _of_root(column: NDArray[np.int64], root_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Value of each key's root, 0 for a key without rows."""
    values = np.zeros(len(root_row), dtype=np.int64)
    values[root_row >= 0] = column[root_row[root_row >= 0]]
    return values
