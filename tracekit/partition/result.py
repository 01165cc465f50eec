"""The output of the partition, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Defects:
    """What had to be changed or set aside to make the trees, exactly, one value a key.

    Columns -------
    orphan_count : rows put under a `<missing>` node because their parent did not arrive.
    orphan_ns : time of the primary root that `<missing>` nodes own.
    root_parent_missing : bool, no row was parentless and an orphan (or a cut cycle) had to be the primary
        root.
    outside_count, outside_ns : rows with a duration that lie wholly outside what holds them, and the time
        that they last before the end of the root.
    truncated_ns : time cut from rows that lie partly outside what holds them, before the end of the root;
        where both were cut, only what the row reaches further.
    post_root_ns : how long after the end of the primary root its last blocking descendant ends.
    negative_duration_count : rows that ended before they started, taken as zero-length at their start.
    cycle_count : parent cycles that were cut.
    extra_root_count : further roots (parentless rows and cut cycles), each with a tree of its own.
    async_count, async_ns : subtrees that do not block their parent, and the durations of their roots.
    shift_ns : largest correction of a clock, as an absolute value; shifted_count : rows corrected.
    unused_wait_count : rows on a chain whose `waits_for` names no earlier sibling, so that timing decided.

    Orphans, outside, truncated, post-root and shifts concern the primary tree; the rest the whole key.
    """

    orphan_count: NDArray[np.int64]
    orphan_ns: NDArray[np.int64]
    root_parent_missing: NDArray[np.bool_]
    outside_count: NDArray[np.int64]
    outside_ns: NDArray[np.int64]
    truncated_ns: NDArray[np.int64]
    post_root_ns: NDArray[np.int64]
    negative_duration_count: NDArray[np.int64]
    cycle_count: NDArray[np.int64]
    extra_root_count: NDArray[np.int64]
    async_count: NDArray[np.int64]
    async_ns: NDArray[np.int64]
    shift_ns: NDArray[np.int64]
    shifted_count: NDArray[np.int64]
    unused_wait_count: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Who owns which part of each root's time.

    Rows 0 to `given_rows - 1` are those of the forest, in its order. Rows from `given_rows` on are
    synthetic: the `<missing>` nodes that stand for parents that did not arrive; row `given_rows + i` has
    the absent id `missing_parent_id[i]`.

    Columns, one value a row ------------------------
    key : int64, as given.
    start_ns, end_ns : int64, cleaned and with clocks corrected, not clipped.
    effective_parent : int64, row of the parent in the tree, -1 for the root of a tree.
    holder : int64, row whose time this one takes part in: the parent, or the nearest ancestor that ends after
        a row that outlasts its parent; -1 for the root of a tree.
    tree : int64, row of the root of the tree that the row is in.
    depth : int32, 0 for a root.
    is_primary : bool, the row is in the tree of its key's primary root.
    clipped_start_ns, clipped_end_ns : int64, the part inside the holder's clipped interval, else empty
        (equal).
    window_start_ns, window_end_ns : int64, the part of the root's time that the row and those below it own,
        else empty (equal). Inside the holder's window and disjoint from those of the other rows it holds.
    shift_ns : int64, what was added to both times to correct the clock.
    order : int32, all rows, tree by tree and holders before what they hold.
    tiebreak : uint64, as given; the absent id for a synthetic row.

    Columns, one value a key: `root_row` (-1 for a key without rows), `root_start_ns`, `root_end_ns` of the
    primary root, and `defects`.
    """

    rule: str
    given_rows: int
    key: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    effective_parent: NDArray[np.int64]
    holder: NDArray[np.int64]
    tree: NDArray[np.int64]
    depth: NDArray[np.int32]
    is_primary: NDArray[np.bool_]
    clipped_start_ns: NDArray[np.int64]
    clipped_end_ns: NDArray[np.int64]
    window_start_ns: NDArray[np.int64]
    window_end_ns: NDArray[np.int64]
    shift_ns: NDArray[np.int64]
    order: NDArray[np.int32]
    tiebreak: NDArray[np.uint64]
    missing_parent_id: NDArray[np.uint64]
    root_row: NDArray[np.int64]
    root_start_ns: NDArray[np.int64]
    root_end_ns: NDArray[np.int64]
    defects: Defects

    @property
    def row_count(self) -> int:
        """Number of rows, synthetic ones included."""
        return int(self.key.shape[0])

    @property
    def key_count(self) -> int:
        """Number of keys."""
        return int(self.root_row.shape[0])

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows are synthetic `<missing>` nodes."""
        return np.arange(self.row_count) >= self.given_rows
