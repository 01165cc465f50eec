"""A forest refuses columns that cannot be traces, and says which row and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.partition.exclusive_time import self_ns
from tracekit.errors import UsageError
from tracekit.partition import Forest, owned_segments, partition


def two_rows(**columns: list) -> Forest:
    """Two traces of one row each, some columns replaced."""
    given = {"key": [0, 1], "parent": [-1, -1], "start_ns": [0, 0], "end_ns": [1, 1], "tiebreak": [0, 1]}
    return Forest.from_columns(**(given | columns))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"key": [0, -1]}, "row 1 .* negative key"),
        ({"parent": [-1, 2]}, "row 1 .* parent row that does not exist"),
        ({"parent": [-3, -1]}, "row 0 .* parent row that does not exist"),
        ({"parent": [-1, 0]}, "row 1 .* parent row of another key"),
        ({"waits_for": [5, -1]}, "row 0 .* waits for a row that does not exist"),
        ({"waits_for": [-1, 0]}, "row 1 .* waits for a row of another key"),
        ({"end_ns": [1]}, "column end_ns .* one value a row"),
    ],
)
def test_columns_that_cannot_be_are_refused(column: dict[str, list], message: str) -> None:
    """Every reference must be to a row of the same key, every column of the same length."""
    with pytest.raises(UsageError, match=message):
        two_rows(**column)


@pytest.mark.parametrize("options", [{"rule": "shortest"}, {"overlap_tolerance": 1.0}, {"overlap_tolerance": -0.1}])
def test_unknown_rules_and_tolerances_are_refused(options: dict[str, object]) -> None:
    """A tolerance of one or more would let a sibling finish before it started."""
    with pytest.raises(UsageError, match=r"use 'critical'|give at least 0"):
        partition(two_rows(), **options)


def test_an_empty_forest_has_an_empty_partition() -> None:
    """No rows in, no rows out, no failure."""
    result = partition(Forest.from_columns(key=[], parent=[], start_ns=[], end_ns=[], tiebreak=[]))
    assert result.row_count == result.key_count == 0
    assert len(self_ns(result)) == len(owned_segments(result).row) == 0


def test_a_key_without_rows_has_no_root() -> None:
    """Keys are dense by contract; a hole is answered with no root and zero times."""
    result = partition(two_rows(key=[0, 2]))
    assert result.root_row.tolist() == [0, -1, 1]
    assert result.root_end_ns.tolist() == [1, 0, 1]
    assert self_ns(result).tolist() == [1, 1]


def test_read_only_columns_are_taken() -> None:
    """Columns that Arrow or polars own are read-only; they are copied, not refused."""
    start_ns = np.array([0, 0], dtype=np.int64)
    start_ns.flags.writeable = False
    assert self_ns(partition(two_rows(start_ns=start_ns))).tolist() == [1, 1]


def test_the_given_columns_stay_as_they_were() -> None:
    """Cleaning works on copies: the same forest can be partitioned by each rule."""
    forest = Forest.from_columns(
        key=[0, 0, 0], parent=[1, 0, -2], start_ns=[5, 0, 3], end_ns=[4, 9, 8], tiebreak=[0, 1, 2]
    )
    before = {name: column.copy() for name, column in vars(forest).items()}
    for rule in ("critical", "active_last"):
        partition(forest, rule=rule)
    assert all(np.array_equal(before[name], column) for name, column in vars(forest).items())
