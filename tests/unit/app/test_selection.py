"""The units behind an answer, marked as the answer compares them."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from investigation.selection import baseline_cohorts, cohorts, quantile_ns, strip_window_ns

UNITS = pl.DataFrame({"unit_id": range(1, 11), "start_ns": range(10), "value_ns": range(10, 110, 10)})


def test_the_middle_fifth_is_the_baseline_of_its_own_tail() -> None:
    """Slow from the threshold on, baseline between p40 and p60, both ends included."""
    marked = cohorts(UNITS, threshold_ns=100, baseline="body")
    assert marked.group_by("cohort").agg(pl.col("value_ns").sort()).sort("cohort")["value_ns"].to_list() == [
        [40, 50, 60], [10, 20, 30, 70, 80, 90], [100],
    ]  # fmt: skip


def test_another_selection_is_compared_by_its_own_slow_ones() -> None:
    """With a baseline selection, nothing of the selection itself is baseline."""
    assert set(cohorts(UNITS, threshold_ns=100, baseline="model = 'x'")["cohort"]) == {"slow", "other"}
    assert baseline_cohorts(UNITS, quantile=0.9).filter(pl.col("cohort") == "baseline")["value_ns"].to_list() == [
        90,
        100,
    ]


def test_a_quantile_is_an_observed_value() -> None:
    """The smallest value at or below which at least that share lies; none of nothing."""
    values = pl.Series([30, 10, 20])
    assert [quantile_ns(values, share) for share in (0.0, 0.3, 0.5, 1.0)] == [10, 10, 20, 30]
    assert quantile_ns(values.clear(), 0.5) == 0


@given(st.integers(0, 10**18))
def test_a_strip_has_at_most_sixty_windows_of_a_round_length(range_ns: int) -> None:
    """Whole seconds at least, so that the axis reads."""
    window_ns = strip_window_ns(range_ns)
    assert range_ns / window_ns <= 60
    assert window_ns % 1_000_000_000 == 0
