"""Shapes of a million rows that break recursion and quadratic algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.partition.exclusive_time import self_ns
from tracekit.partition import Forest, Partition, partition, priority_sweep

ROWS = 1_000_000
RULES = pytest.mark.parametrize("rule", ["critical", "active_last"])


def one_trace(parent: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> Forest:
    key = np.zeros(len(parent), dtype=np.int64)
    return Forest.from_columns(
        key=key, parent=parent, start_ns=start_ns, end_ns=end_ns, tiebreak=np.arange(len(parent))
    )


def assert_closes(result: Partition) -> None:
    whole_ns = result.root_end_ns[0] - result.root_start_ns[0]
    exclusive_ns = self_ns(result)
    assert exclusive_ns.min() >= 0
    assert exclusive_ns[result.is_primary].sum() == whole_ns


@RULES
def test_a_chain_of_a_million_rows(rule: str) -> None:
    """Depth costs no stack: every row owns a nanosecond on either side of its child."""
    row = np.arange(ROWS)
    result = partition(one_trace(row - 1, row, 3 * ROWS - row), rule=rule)
    assert result.depth.max() == ROWS - 1
    assert self_ns(result)[:-1].tolist() == [2] * (ROWS - 1)
    assert_closes(result)


@RULES
def test_a_million_children_of_one_parent(rule: str) -> None:
    """Fan-out costs a sort, not a comparison of each with each."""
    random = np.random.default_rng(5)
    start_ns = random.integers(0, 10**9, ROWS)
    end_ns = start_ns + random.integers(0, 10**7, ROWS)
    start_ns[0], end_ns[0] = 0, 2 * 10**9
    result = partition(one_trace(np.where(np.arange(ROWS) == 0, -1, 0), start_ns, end_ns), rule=rule)
    assert_closes(result)


def test_a_cycle_of_a_million_rows() -> None:
    """A cycle is found and cut in one walk."""
    row = np.arange(ROWS)
    result = partition(one_trace(np.roll(row, 1), row * 0, row * 0 + 7))
    assert result.defects.cycle_count.tolist() == [1]
    assert result.root_row.tolist() == [0]
    assert_closes(result)


def test_a_million_open_operations_are_swept() -> None:
    """The open operations wait in a heap; the window is tiled all the same."""
    start_ns = np.arange(ROWS)
    swept = priority_sweep(start_ns * 0, start_ns, 2 * ROWS - start_ns, start_ns % 7, [0], [3 * ROWS])
    assert (swept.end_ns - swept.start_ns).sum() == 3 * ROWS
