"""Durations, shares, counts and moments as people read them, the same on every surface."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.wording import (
    count_text,
    counted,
    difference_text,
    duration_text,
    exact_text,
    interval_text,
    moment_text,
    period_text,
    share_text,
)


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (None, "–"), (0, "0 ns"), (-12, "-12 ns"), (1500, "1.5 µs"), (45_600_000, "45.6 ms"), (0.5, "0.5 ns"),
        (1_671_234_567, "1.671 s"), (7_200_000_000_000, "7200 s"), (9_999_900_000_000, "10,000 s"),
        (72_000_000_000_000, "72,000 s"),
    ],
)  # fmt: skip
def test_durations_have_four_figures_and_a_unit(duration_ns: float | None, text: str) -> None:
    """What people read, the same in sentences, tables and charts."""
    assert duration_text(duration_ns) == text


@pytest.mark.parametrize(
    ("period_ns", "text"),
    [
        (None, "–"), (0, "0 ns"), (59_900_000_000, "59.9 s"), (59_999_000_000, "60 s"), (60_000_000_000, "1 min"),
        (725_400_000_000, "12 min 5 s"), (21_026_000_000_000, "5 h 50 min"), (86_399_600_000_000, "1 d"),
        (273_600_000_000_000, "3 d 4 h"),
    ],
)  # fmt: skip
def test_periods_are_told_in_the_two_largest_units(period_ns: int | None, text: str) -> None:
    """Hours as hours: nobody divides 21,026 s."""
    assert period_text(period_ns) == text


def test_a_signed_duration_shows_a_gain_as_such() -> None:
    """An excess reads with its sign; nothing is neither gain nor loss."""
    assert [duration_text(value, signed=True) for value in (5_000, -5_000, 0)] == ["+5 µs", "-5 µs", "0 ns"]


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_the_exact_text_keeps_every_digit(duration_ns: int) -> None:
    """A tooltip can be read back to the nanosecond."""
    assert int(exact_text(duration_ns).removesuffix(" ns").replace(",", "")) == duration_ns


def test_no_number_is_a_dash() -> None:
    """Except for an interval, which is left out."""
    assert [duration_text(None), exact_text(None), share_text(None), moment_text(None)] == ["–"] * 4
    assert interval_text(None, 3) == ""


def test_shares_intervals_and_differences() -> None:
    """One digit of a per cent; both ends in their own units; more or less."""
    assert [share_text(value) for value in (0.4567, 0.0, -0.01)] == ["45.7%", "0.0%", "-1.0%"]
    assert interval_text(-1_500, 2_000_000) == "-1.5 µs … 2 ms"
    assert [difference_text(value) for value in (12_000_000, -3_000, 0)] == ["12 ms more", "3 µs less", "0 ns more"]


def test_counts_and_moments() -> None:
    """A noun agrees with its number; a moment is in UTC to the second."""
    assert [counted(1, "span"), counted(2_000, "span")] == ["1 span", "2,000 spans"]
    assert [count_text(999_999), count_text(12_345_678)] == ["999,999", "12.3 M"]
    assert moment_text(1_700_000_000_999_999_999) == "2023-11-14 22:13:20Z"
