"""Rows of a timeline: operations in the order of their tree, each with its depth and the end of its subtree."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

_Rows = NDArray[np.int64]


def in_tree_order(nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes, parents before children and siblings by start, with `row` (0, 1, …), `depth` and `last_row`.

    `nodes` has `node`, `parent` (null or a node that is not there: a root) and `start_ns`; with `place`, siblings
    go by that first. Everything below a node lies in the rows after its own and before `last_row`. A node that no
    root reaches (a cycle) is appended after all others, at depth 0, so that none is lost. The work grows with the
    number of nodes, not with the depth of the tree.
    """
    by = [name for name in ("place", "start_ns", "node") if name in nodes.columns]
    ranked = nodes.sort(by)
    row, depth, size = _tour(_parents(ranked))
    ordered = ranked.with_columns(
        pl.Series("depth", depth), pl.Series("row", row), pl.Series("last_row", row + size, dtype=pl.Int64)
    )
    return ordered.sort("row").drop("place", strict=False)


def _parents(ranked: pl.DataFrame) -> _Rows:
    """The position of each node's parent, -1 for a root."""
    positions = ranked.select("node", pl.int_range(pl.len()).alias("position")).unique("node", keep="first")
    above = ranked.select(pl.col("parent").alias("node")).join(positions, on="node", how="left", maintain_order="left")
    return above["position"].fill_null(-1).to_numpy().astype(np.int64)


def _tour(parent: _Rows) -> tuple[_Rows, _Rows, _Rows]:
    """Row, depth and size of the subtree of each node, from a walk around the trees that enters and leaves each.

    The walk is a linked list of 2 n places, whose ranks are found by doubling (list ranking, Wyllie 1979).
    """
    count = len(parent)
    is_lost = _never_reaches_a_root(parent)
    parent = np.where(is_lost, -1, parent)
    first_child, next_sibling = _siblings(parent, is_lost)
    node = np.arange(count)
    enter = np.where(first_child >= 0, first_child, node + count)
    leave = np.where(next_sibling >= 0, next_sibling, np.where(parent >= 0, parent + count, 2 * count))
    place = 2 * count - _steps_to_the_end(np.concatenate([enter, leave, [2 * count]]))[:-1]
    entered, left = place[:count], place[count:]
    is_enter = np.zeros(2 * count, dtype=np.int64)
    is_enter[entered] = 1
    row = np.cumsum(is_enter) - 1
    depth = np.cumsum(2 * is_enter - 1) - 1
    return row[entered], depth[entered], (left - entered + 1) // 2


def _never_reaches_a_root(parent: _Rows) -> NDArray[np.bool_]:
    """Whether a node lies on a cycle or below one."""
    count = len(parent)
    above = np.append(np.where(parent < 0, count, parent), count)
    for _ in range(max(count, 1).bit_length()):
        above = above[above]
    return above[:count] != count


def _siblings(parent: _Rows, is_lost: NDArray[np.bool_]) -> tuple[_Rows, _Rows]:
    """First child and next sibling of each node, -1 for none; roots are siblings, the lost ones the last."""
    count = len(parent)
    order = np.lexsort((np.arange(count), is_lost, parent))
    above = parent[order]
    is_next = above[1:] == above[:-1]
    next_sibling, first_child = np.full(count, -1), np.full(count, -1)
    next_sibling[order[:-1][is_next]] = order[1:][is_next]
    begins = order[np.concatenate([[True], ~is_next])] if count else order
    begins = begins[parent[begins] >= 0]
    first_child[parent[begins]] = begins
    return first_child, next_sibling


def _steps_to_the_end(following: _Rows) -> _Rows:
    """How many steps each place of a linked list is from its last one, which follows itself."""
    steps = np.ones(len(following), dtype=np.int64)
    steps[-1] = 0
    while (following != len(following) - 1).any():
        steps += steps[following]
        following = following[following]
    return steps
