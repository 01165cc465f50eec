"""The compiled partition says what its definition says, on dirty traces, whatever the order of the rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.partition.exclusive_time import self_ns
from tests.unit.partition.oracle import Answer, Row, solve
from tests.unit.partition.traces import dirty_traces, forest_of, random_trace
from tracekit.partition import Forest, Partition, owned_segments, partition

RULES = pytest.mark.parametrize(
    ("rule", "tolerance"),
    [("critical", 0.05), ("critical", 0.0), ("critical", 0.3), ("active_last", 0.0), ("active_last", 0.3)],
)


def rows_of_key(result: Partition, key: int) -> np.ndarray:
    """Given rows of a key in the order of its trace, then its synthetic rows by absent id."""
    return np.flatnonzero(result.key == key)


def assert_agrees(result: Partition, key: int, answer: Answer) -> None:
    rows = rows_of_key(result, key)
    position = {int(row): at for at, row in enumerate(rows)}
    assert [position.get(int(row), -1) for row in result.effective_parent[rows]] == answer.parent
    assert position[int(result.root_row[key])] == answer.root
    for tree in answer.trees.values():
        for at, (start, end) in tree.clipped.items():
            row = rows[at]
            assert position[int(result.tree[row])] == tree.root
            assert bool(result.is_primary[row]) == (tree.root == answer.root)
            assert result.clipped_end_ns[row] - result.clipped_start_ns[row] == end - start
            if end > start:
                assert (result.clipped_start_ns[row], result.clipped_end_ns[row]) == (start, end)
    assert [
        int(result.missing_parent_id[row - result.given_rows]) for row in rows[len(rows) - len(answer.missing_ids) :]
    ] == (answer.missing_ids)
    for name, expected in answer.counts.items():
        assert int(getattr(result.defects, name)[key]) == expected, name


def assert_owned(result: Partition, key: int, answer: Answer, cut: tuple[int, int]) -> None:
    rows = rows_of_key(result, key)
    cuts = (np.full(result.key_count, bound) for bound in cut)
    assert self_ns(result)[rows].tolist() == answer.self_ns()
    assert self_ns(result, *cuts)[rows].tolist() == answer.self_ns(cut)
    segments = owned_segments(result)
    painted = {}
    for row, start, end in zip(segments.row, segments.start_ns, segments.end_ns, strict=True):
        if result.key[row] == key:
            painted |= dict.fromkeys(range(start, end), int(np.searchsorted(rows, row)))
    assert painted == answer.trees[answer.root].owner


@RULES
@given(trace=dirty_traces(), cut=st.tuples(st.integers(0, 30), st.integers(0, 60)))
def test_every_instant_has_the_owner_that_the_rule_names(
    rule: str, tolerance: float, trace: list[Row], cut: tuple[int, int]
) -> None:
    """Windows, exclusive time, cuts, segments, trees and counts equal those of the definition."""
    answer = solve(trace, rule, Fraction(str(tolerance)))
    result = partition(forest_of([trace]), rule=rule, overlap_tolerance=tolerance)
    assert_agrees(result, 0, answer)
    assert_owned(result, 0, answer, cut)


@RULES
def test_many_traces_at_once_give_what_each_gives_alone(rule: str, tolerance: float) -> None:
    """Keys do not influence each other: a forest of 1,500 dirty traces agrees with the definition on each."""
    random = np.random.default_rng(20)
    traces = [random_trace(random) for _ in range(1_500)]
    result = partition(forest_of(traces), rule=rule, overlap_tolerance=tolerance)
    exclusive_ns = self_ns(result)
    assert (exclusive_ns >= 0).all()
    for key, trace in enumerate(traces):
        answer = solve(trace, rule, Fraction(str(tolerance)))
        assert_agrees(result, key, answer)
        assert exclusive_ns[rows_of_key(result, key)].tolist() == answer.self_ns()


@RULES
def test_a_family_of_many_children_agrees(rule: str, tolerance: float) -> None:
    """Sixty children of one parent: more than the sort's shortest runs."""
    random = np.random.default_rng(23)
    for _ in range(10):
        starts = random.integers(0, 180, 60).tolist()
        children = [Row(start, start + int(random.integers(0, 40)), 0, at + 1) for at, start in enumerate(starts)]
        trace = [Row(0, 200, -1, 0), *children]
        answer = solve(trace, rule, Fraction(str(tolerance)))
        result = partition(forest_of([trace]), rule=rule, overlap_tolerance=tolerance)
        assert self_ns(result).tolist() == answer.self_ns()


def test_parts_sum_to_the_whole_on_dirty_traces() -> None:
    """Exclusive times of every tree sum to the duration of its root, to the nanosecond."""
    random = np.random.default_rng(21)
    result = partition(forest_of([random_trace(random) for _ in range(3_000)]))
    whole_ns = np.zeros(result.row_count, dtype=np.int64)
    roots = np.unique(result.tree)
    whole_ns[roots] = result.end_ns[roots] - result.start_ns[roots]
    sums_ns = np.zeros(result.row_count, dtype=np.int64)
    np.add.at(sums_ns, result.tree, self_ns(result))
    assert np.array_equal(sums_ns, whole_ns)


@RULES
@given(trace=dirty_traces(), data=st.data())
def test_the_order_of_the_rows_does_not_matter(
    rule: str, tolerance: float, trace: list[Row], data: st.DataObject
) -> None:
    """Rows arrive in any order; what each owns and hangs under stays the same."""
    order = np.array(data.draw(st.permutations(range(len(trace)))))
    forest = forest_of([trace])
    straight = partition(forest, rule=rule, overlap_tolerance=tolerance)
    mixed = partition(reordered(forest, order), rule=rule, overlap_tolerance=tolerance)
    given_rows = slice(0, len(trace))
    assert self_ns(mixed)[given_rows].tolist() == self_ns(straight)[order].tolist()
    assert self_ns(mixed)[len(trace) :].tolist() == self_ns(straight)[len(trace) :].tolist()
    assert mixed.window_start_ns[given_rows].tolist() == straight.window_start_ns[order].tolist()
    assert order[mixed.root_row].tolist() == straight.root_row.tolist()


def reordered(forest: Forest, order: np.ndarray) -> Forest:
    """The same trace with row `order[i]` in place i."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))

    def moved(reference: np.ndarray) -> np.ndarray:
        return np.where(reference >= 0, place[np.maximum(reference, 0)], reference)[order]

    return Forest.from_columns(
        key=forest.key[order],
        parent=moved(forest.parent),
        missing_parent_id=forest.missing_parent_id[order],
        start_ns=forest.start_ns[order],
        end_ns=forest.end_ns[order],
        blocking=forest.blocking[order],
        tiebreak=forest.tiebreak[order],
        waits_for=moved(forest.waits_for),
    )
