"""The priority sweep gives each instant of a unit's window to the open operation of highest priority."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import UsageError
from tracekit.partition import GAP, SweptSegments, priority_sweep

COMPUTE, COMMUNICATION = 0, 1

operations = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(-3, 20), st.integers(0, 2)), max_size=12
)


def as_rows(swept: SweptSegments) -> list[tuple[int, int, int, int]]:
    """(unit, owner, start, end) of each segment."""
    columns = (swept.unit, swept.row, swept.start_ns, swept.end_ns)
    return [tuple(int(value) for value in segment) for segment in zip(*columns, strict=True)]


def test_communication_owns_what_compute_does_not_hide() -> None:
    """Exposed communication: [10, 40) less compute [0, 20) and [30, 35); then nothing runs until 50."""
    swept = priority_sweep(
        unit=[0, 0, 0],
        start_ns=[0, 30, 10],
        end_ns=[20, 35, 40],
        priority=[COMPUTE, COMPUTE, COMMUNICATION],
        unit_start_ns=[0],
        unit_end_ns=[50],
    )
    assert as_rows(swept) == [(0, 0, 0, 20), (0, 2, 20, 30), (0, 1, 30, 35), (0, 2, 35, 40), (0, GAP, 40, 50)]


def test_of_equal_priority_the_latest_started_owns() -> None:
    """A nested operation is the closer description of the time."""
    swept = priority_sweep([0, 0], [0, 4], [10, 6], [0, 0], [0], [10])
    assert as_rows(swept) == [(0, 0, 0, 4), (0, 1, 4, 6), (0, 0, 6, 10)]


def test_operations_are_clipped_to_the_window_of_their_unit() -> None:
    """What lies wholly outside, or ends before it starts, owns nothing and is counted."""
    swept = priority_sweep([0, 0, 0, 0], [0, 25, 50, 18], [12, 40, 60, 16], [0, 0, 0, 0], [10, 0], [30, 0])
    assert as_rows(swept) == [(0, 0, 10, 12), (0, GAP, 12, 25), (0, 1, 25, 30)]
    assert swept.outside_count.tolist() == [1, 0]
    assert swept.negative_duration_count.tolist() == [1, 0]


def test_a_unit_without_operations_is_one_gap() -> None:
    """No operation is no reason to lose the time."""
    assert as_rows(priority_sweep([], [], [], [], [5], [9])) == [(0, GAP, 5, 9)]


@given(
    rows=operations,
    windows=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 40)), min_size=3, max_size=3),
)
def test_segments_equal_the_definition_and_tile_the_window(
    rows: list[tuple[int, int, int, int]], windows: list[tuple[int, int]]
) -> None:
    """Instant by instant: priority, then latest start, then row; no gap between segments, no overlap."""
    unit, start, length, priority = (np.array([row[at] for row in rows], dtype=np.int64) for at in range(4))
    swept = priority_sweep(unit, start, start + length, priority, *np.array(windows).T)
    found = as_rows(swept)
    for number, (opens, closes) in enumerate(windows):
        expected = {}
        for instant in range(opens, closes):
            is_open = [
                row
                for row in range(len(rows))
                if unit[row] == number and start[row] <= instant < start[row] + length[row]
            ]
            expected[instant] = min(is_open, key=lambda row: (priority[row], -start[row], row), default=GAP)
        mine = [segment for segment in found if segment[0] == number]
        painted = [(instant, owner) for _, owner, low, high in mine for instant in range(low, high)]
        assert painted == list(expected.items())
        assert all(before[1] != after[1] for before, after in pairwise(mine))


@given(rows=operations, data=st.data())
def test_with_a_tiebreak_the_order_of_the_rows_does_not_matter(
    rows: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    """Rows that priority and start cannot tell apart are told apart by their ids."""
    order = data.draw(st.permutations(range(len(rows))))
    windows = [0, 0, 0], [40, 40, 40]

    def swept(rows_in_order: list[int]) -> list[tuple[int, int, int, int]]:
        columns = np.array([rows[row] for row in rows_in_order], dtype=np.int64).reshape(-1, 4).T
        unit, start, length, priority = columns
        ends = start + length
        result = priority_sweep(unit, start, ends, priority, *windows, tiebreak=rows_in_order)
        return [(at, GAP if row == GAP else rows_in_order[row], *times) for at, row, *times in as_rows(result)]

    assert swept(list(order)) == swept(list(range(len(rows))))


@pytest.mark.parametrize(
    ("unit", "end_ns", "message"),
    [([2], [1], "name units 2 to 2, there are 2"), ([0], [1, 2], "differ in length")],
)
def test_operations_of_no_unit_are_refused(unit: list[int], end_ns: list[int], message: str) -> None:
    """Time that belongs to no window would be lost in silence."""
    with pytest.raises(UsageError, match=message):
        priority_sweep(unit, [0], end_ns, [0], [0, 0], [9, 9])
