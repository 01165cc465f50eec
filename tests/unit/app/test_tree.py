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


@given(st.lists(st.integers(0, 30), max_size=30))
def test_a_subtree_is_the_rows_from_its_node_to_its_end(parents: list[int]) -> None:
    """Counted here by climbing from every node to its root."""
    nodes = [(str(number), str(parent), number) for number, parent in enumerate(parents)]
    frame = in_tree_order(pl.DataFrame(nodes, schema=SCHEMA, orient="row"))
    above = {node: parent for node, parent, _ in nodes if int(parent) < len(nodes)}
    size, depth = dict.fromkeys((node for node, _, _ in nodes), 0), {}
    for node, _, _ in nodes:
        chain, each = [], node
        while each is not None and each not in chain and len(chain) <= len(nodes):
            chain.append(each)
            each = above.get(each)
        is_lost = each is not None
        depth[node] = 0 if is_lost else len(chain) - 1
        for one in [node] if is_lost else chain:
            size[one] += 1
    for node, row, last_row, deep in frame.select("node", "row", "last_row", "depth").iter_rows():
        assert (last_row - row, deep) == (size[node], depth[node])


def test_siblings_go_by_their_place_first() -> None:
    """Ranks stand in their order, whoever began first."""
    frame = pl.DataFrame({"node": ["a", "b"], "parent": [None, None], "start_ns": [0, 1], "place": [2, 1]})
    assert in_tree_order(frame.cast({"parent": pl.String}))["node"].to_list() == ["b", "a"]
