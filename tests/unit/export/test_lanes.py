"""In a lane spans nest or stand apart, whatever they are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.export.lanes import lanes

SPANS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 12), st.integers(-1, 15)), max_size=16)
Span = tuple[int, int, int, int]


def placed(spans: list[Span]) -> list[tuple[int, int, int, int]]:
    """Process, start, end and lane of spans given as process, start, length and parent, in the order of lanes."""
    ordered = sorted(((process, start, start + length, parent) for process, start, length, parent in spans),
                     key=lambda span: (span[0], span[1], -span[2]))  # fmt: skip
    columns = [np.array(column, dtype=np.int64) for column in zip(*ordered, strict=True)] or [np.zeros(0, np.int64)] * 4
    process, start, end, parent = columns
    parent = np.where(parent < len(ordered), parent, -1)
    return list(
        zip(process.tolist(), start.tolist(), end.tolist(), lanes(process, start, end, parent).tolist(), strict=True)
    )


@given(SPANS)
def test_no_two_spans_of_a_lane_overlap_in_part(spans: list[Span]) -> None:
    """They share no time, or one holds the other."""
    for (process, start, end, lane), (other_process, other_start, other_end, other_lane) in combinations(
        placed(spans), 2
    ):
        if (process, lane) != (other_process, other_lane):
            continue
        is_apart = end <= other_start or other_end <= start
        holds = start <= other_start and other_end <= end
        is_held = other_start <= start and end <= other_end
        assert is_apart or holds or is_held


@given(SPANS)
def test_lanes_are_numbered_from_0_in_each_process(spans: list[Span]) -> None:
    """No number is skipped, and no process has more lanes than spans at one time."""
    found = placed(spans)
    for process in {span[0] for span in found}:
        used = sorted({lane for each, _, _, lane in found if each == process})
        assert used == list(range(len(used)))


def test_a_chain_of_calls_is_one_lane() -> None:
    """Children lie in their parents, one after the other."""
    assert [lane for *_, lane in placed([(0, 0, 10, -1), (0, 1, 4, 0), (0, 5, 5, 0), (0, 6, 2, 2)])] == [0, 0, 0, 0]


def test_a_span_that_outlives_what_it_began_in_has_a_lane_of_its_own() -> None:
    """Asynchronous work is seen beside, not cut."""
    assert [lane for *_, lane in placed([(0, 0, 10, -1), (0, 5, 10, 0)])] == [0, 1]


def test_a_child_stands_in_the_lane_of_its_parent_where_it_fits_in_several() -> None:
    """Two requests at a time: the calls of each are below it."""
    spans = [(0, 0, 10, -1), (0, 1, 10, -1), (0, 2, 3, 1)]
    assert [lane for *_, lane in placed(spans)] == [0, 1, 1]
