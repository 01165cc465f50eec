"""The units behind an answer, marked as the answer compares them."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from investigation.selection import cohorts, strip_window_ns

UNITS = pl.DataFrame({"unit_id": range(1, 11), "start_ns": range(10), "value_ns": range(10, 110, 10)})


def test_units_are_marked_as_the_answer_compares_them() -> None:
    """Slow ones, the baseline and the rest; a unit of both sides is slow, none is there twice."""
    cohort = pl.Enum(["tail", "baseline", "selection"])
    rows = [(10, "tail"), (9, "tail"), (9, "baseline"), (4, "baseline"), (5, "selection")]
    compared = pl.DataFrame(rows, schema={"unit_id": pl.Int64, "cohort": cohort}, orient="row")
    marked = cohorts(UNITS, compared)
    assert dict(marked.select("unit_id", "cohort").iter_rows()) == {
        **dict.fromkeys(range(1, 11), "other"), 10: "slow", 9: "slow", 4: "baseline",
    }  # fmt: skip
    assert marked.height == UNITS.height


@given(st.integers(0, 10**18))
def test_a_strip_has_at_most_sixty_windows_of_a_round_length(range_ns: int) -> None:
    """Whole seconds at least, so that the axis reads."""
    window_ns = strip_window_ns(range_ns)
    assert range_ns / window_ns <= 60
    assert window_ns % 1_000_000_000 == 0
