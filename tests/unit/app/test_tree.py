"""Rows of a waterfall: parents before children, nothing lost."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from investigation.tree import in_tree_order

SCHEMA = {"node": pl.String, "parent": pl.String, "start_ns": pl.Int64}


def ordered(*nodes: tuple[str, str | None, int]) -> list[tuple[str, int]]:
    """Names and depths in the order of the rows."""
    frame = in_tree_order(pl.DataFrame(nodes, schema=SCHEMA, orient="row"))
    return list(frame.sort("row").select("node", "depth").iter_rows())


def test_children_follow_their_parent_by_start() -> None:
    """A waterfall reads from the top down and from left to right."""
    assert ordered(("late", "root", 5), ("root", None, 0), ("early", "root", 3), ("leaf", "early", 4)) == [
        ("root", 0), ("early", 1), ("leaf", 2), ("late", 1),
    ]  # fmt: skip


def test_a_node_without_its_parent_is_a_root() -> None:
    """An orphan is drawn, not dropped."""
    assert ordered(("root", None, 0), ("orphan", "gone", 2)) == [("root", 0), ("orphan", 0)]


def test_a_cycle_is_drawn_after_all_trees() -> None:
    """Nodes that no root reaches are shown at depth 0."""
    assert ordered(("x", "y", 0), ("y", "x", 1), ("root", None, 5)) == [("root", 0), ("x", 0), ("y", 0)]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=12))
def test_every_node_has_exactly_one_row(parents: list[tuple[int, int]]) -> None:
    """Whatever the parents, the rows are a permutation of the nodes, numbered from 0."""
    nodes = [(str(number), str(parent), start) for number, (parent, start) in enumerate(parents)]
    frame = in_tree_order(pl.DataFrame(nodes, schema=SCHEMA, orient="row"))
    assert sorted(frame["node"].to_list()) == sorted(name for name, _, _ in nodes)
    assert frame["row"].to_list() == list(range(len(nodes)))
