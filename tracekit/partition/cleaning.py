"""Step 0 and 1 of the partition: from what arrived to trees whose parents exist.

Negative durations become zero, parent cycles are broken, each key gets one primary root, rows whose parent
did not arrive are gathered under a synthetic `<missing>` node, and asynchronous subtrees become trees of
their own. Every change is counted per key.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.forest import PARENT_MISSING, PARENTLESS, Forest

_CYCLE_HEAD = -3


@dataclass(frozen=True, eq=False)
class CleanForest:
    """Trees ready to be placed: `parent` is -1 at the root of each tree and a row everywhere else.

    Rows from `given_rows` on are the synthetic `<missing>` nodes, one a (key, absent parent id), whose ids
    are `missing_parent_id`. Per key: `root_row` and the counts of what was changed.
    """

    given_rows: int
    key: NDArray[np.int64]
    parent: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    tiebreak: NDArray[np.uint64]
    missing_parent_id: NDArray[np.uint64]
    root_row: NDArray[np.int64]
    root_parent_missing: NDArray[np.bool_]
    negative_duration_count: NDArray[np.int64]
    cycle_count: NDArray[np.int64]
    extra_root_count: NDArray[np.int64]
    orphan_count: NDArray[np.int64]
    async_count: NDArray[np.int64]
    async_ns: NDArray[np.int64]


def clean(forest: Forest) -> CleanForest:
    """Turn what arrived into trees; the result does not depend on the order of the rows."""
    keys = forest.key_count
    end_ns = np.maximum(forest.start_ns, forest.end_ns)
    negative = np.bincount(forest.key[forest.end_ns < forest.start_ns], minlength=keys)
    parent = forest.parent.copy()
    cycles = _break_cycles(forest.key, parent, forest.start_ns, end_ns, forest.tiebreak, keys)
    root_row = _primary_roots(forest.key, parent, forest.start_ns, end_ns, forest.tiebreak, keys)
    root_parent_missing = (root_row >= 0) & (parent[root_row] == PARENT_MISSING)
    extra, detached, detached_ns = _detach(forest.key, parent, root_row, forest.blocking, end_ns - forest.start_ns)
    orphans = np.flatnonzero(parent == PARENT_MISSING)
    missing = _missing_nodes(forest, end_ns, orphans)
    parent[orphans] = forest.row_count + missing.group
    return CleanForest(
        given_rows=forest.row_count,
        key=_extended(forest.key, missing.key),
        parent=_extended(parent, root_row[missing.key]),
        start_ns=_extended(forest.start_ns, missing.start_ns),
        end_ns=_extended(end_ns, missing.end_ns),
        tiebreak=_extended(forest.tiebreak, missing.parent_id),
        missing_parent_id=missing.parent_id,
        root_row=root_row,
        root_parent_missing=root_parent_missing,
        negative_duration_count=negative.astype(np.int64),
        cycle_count=cycles,
        extra_root_count=extra,
        orphan_count=np.bincount(forest.key[orphans], minlength=keys).astype(np.int64),
        async_count=detached,
        async_ns=detached_ns,
    )


@dataclass(frozen=True, eq=False)
class _MissingNodes:
    """Hulls of the orphans that name the same absent parent; `group` is the node of each orphan."""

    group: NDArray[np.int64]
    key: NDArray[np.int64]
    parent_id: NDArray[np.uint64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]


def _missing_nodes(forest: Forest, end_ns: NDArray[np.int64], orphans: NDArray[np.int64]) -> _MissingNodes:
    by_parent = orphans[np.lexsort((forest.missing_parent_id[orphans], forest.key[orphans]))]
    key, parent_id = forest.key[by_parent], forest.missing_parent_id[by_parent]
    is_first = np.ones(len(by_parent), dtype=bool)
    is_first[1:] = (key[1:] != key[:-1]) | (parent_id[1:] != parent_id[:-1])
    first = np.flatnonzero(is_first)
    group = np.empty(len(by_parent), dtype=np.int64)
    group[np.searchsorted(orphans, by_parent)] = np.cumsum(is_first) - 1
    return _MissingNodes(
        group=group,
        key=key[first],
        parent_id=parent_id[first],
        start_ns=_reduced(np.minimum, forest.start_ns[by_parent], first),
        end_ns=_reduced(np.maximum, end_ns[by_parent], first),
    )


def _reduced(reduction: np.ufunc, values: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    # `reduceat` refuses an empty list of groups.
    return reduction.reduceat(values, first) if len(first) else values[:0]


def _extended(column: Array, added: Array) -> Array:
    return np.concatenate([column, added]) if len(added) else column


@kernel
def _is_better_root(start_ns: Array, end_ns: Array, tiebreak: Array, challenger: int, holder: int) -> bool:
    """Earlier start, then longer duration, then smaller tie-break."""
    if start_ns[challenger] != start_ns[holder]:
        return start_ns[challenger] < start_ns[holder]
    if end_ns[challenger] != end_ns[holder]:
        return end_ns[challenger] > end_ns[holder]
    return tiebreak[challenger] < tiebreak[holder]


@kernel
def _break_cycles(key: Array, parent: Array, start_ns: Array, end_ns: Array, tiebreak: Array, keys: int) -> Array:
    """Cut each cycle above its best root, marked `_CYCLE_HEAD`; returns the cycles of each key."""
    unseen, on_path, settled = 0, 1, 2
    state = np.zeros(key.shape[0], dtype=np.int8)
    cycles = np.zeros(keys, dtype=np.int64)
    for row in range(key.shape[0]):
        top = row
        while top >= 0 and state[top] == unseen:
            state[top] = on_path
            top = parent[top]
        closes_cycle = top >= 0 and state[top] == on_path
        walker = row
        while walker >= 0 and state[walker] == on_path:
            state[walker] = settled
            walker = parent[walker]
        if closes_cycle:
            parent[_cycle_head(parent, start_ns, end_ns, tiebreak, top)] = _CYCLE_HEAD
            cycles[key[top]] += 1
    return cycles


@kernel
def _cycle_head(parent: Array, start_ns: Array, end_ns: Array, tiebreak: Array, member: int) -> int:
    head = member
    walker = parent[member]
    while walker != member:
        if _is_better_root(start_ns, end_ns, tiebreak, walker, head):
            head = walker
        walker = parent[walker]
    return head


@kernel
def _primary_roots(key: Array, parent: Array, start_ns: Array, end_ns: Array, tiebreak: Array, keys: int) -> Array:
    """The best root of each key among its parentless rows, else among its orphans and cut cycles."""
    root_row = np.full(keys, -1, dtype=np.int64)
    for row in range(key.shape[0]):
        if parent[row] >= 0:
            continue
        holder = root_row[key[row]]
        if holder < 0:
            root_row[key[row]] = row
            continue
        is_parentless, holder_is_parentless = parent[row] == PARENTLESS, parent[holder] == PARENTLESS
        if (is_parentless and not holder_is_parentless) or (
            is_parentless == holder_is_parentless and _is_better_root(start_ns, end_ns, tiebreak, row, holder)
        ):
            root_row[key[row]] = row
    return root_row


@kernel
def _detach(
    key: Array, parent: Array, root_row: Array, blocking: Array, duration_ns: Array
) -> tuple[Array, Array, Array]:
    """Make roots of primary and extra roots and of asynchronous subtrees; returns what was made, per key."""
    extra_roots = np.zeros(root_row.shape[0], dtype=np.int64)
    async_count = np.zeros(root_row.shape[0], dtype=np.int64)
    async_ns = np.zeros(root_row.shape[0], dtype=np.int64)
    for row in range(key.shape[0]):
        if row == root_row[key[row]]:
            parent[row] = PARENTLESS
        elif parent[row] == PARENTLESS or parent[row] == _CYCLE_HEAD:
            parent[row] = PARENTLESS
            extra_roots[key[row]] += 1
        elif not blocking[row]:
            parent[row] = PARENTLESS
            async_count[key[row]] += 1
            async_ns[key[row]] += duration_ns[row]
    return extra_roots, async_count, async_ns
