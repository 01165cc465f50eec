"""Row numbers are sorted by several keys, greatest first, at every size and stably."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.partition.sorting import sort_descending


def sorted_rows(rows: np.ndarray, keys: np.ndarray, low: int, high: int) -> list[int]:
    """`rows` after its part from `low` to `high` was sorted."""
    rows = rows.astype(np.int32)
    sort_descending(rows, low, high, np.empty_like(rows), keys)
    return rows.tolist()


@given(
    keys=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=150),
    bounds=st.tuples(st.integers(0, 150), st.integers(0, 150)),
)
def test_a_part_is_sorted_as_python_sorts_it(keys: list[tuple[int, int]], bounds: tuple[int, int]) -> None:
    """Rows of equal keys keep their order; rows outside the part stay where they are."""
    low, high = sorted(min(bound, len(keys)) for bound in bounds)
    rows = np.random.default_rng(1).permutation(len(keys))
    part = sorted(rows[low:high].tolist(), key=lambda row: (-keys[row][0], -keys[row][1]))
    expected = rows[:low].tolist() + part + rows[high:].tolist()
    assert sorted_rows(rows, np.array(keys, dtype=np.int64).T.copy(), low, high) == expected


@pytest.mark.parametrize("size", [15, 16, 17, 32, 33, 100, 5_000])
@pytest.mark.parametrize("shape", ["random", "ascending", "descending"])
def test_sizes_around_the_runs_that_are_merged(size: int, shape: str) -> None:
    """Lengths that do and do not divide into runs, presorted either way."""
    key = np.random.default_rng(size).permutation(size)
    key = {"random": key, "ascending": np.arange(size), "descending": np.arange(size)[::-1]}[shape]
    expected = np.argsort(-key, kind="stable").tolist()
    assert sorted_rows(np.arange(size), key.astype(np.int64).reshape(1, -1).copy(), 0, size) == expected
