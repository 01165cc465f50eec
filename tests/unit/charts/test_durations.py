"""Durations as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.charts.durations import axis_unit, duration_text, exact_text, share_text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (999_600, "1.00 ms"),
        (91_012_345, "91.0 ms"),
        (1_234_000_000, "1.23 s"),
        (59_990_000_000, "1.00 min"),
        (-1_500_000, "−1.50 ms"),
        (7_200_000_000_000, "2.00 h"),
    ],
)
def test_a_duration_has_three_digits_and_the_unit_that_fits(duration_ns: int, text: str) -> None:
    """What rounds up to the next unit is shown in the next unit."""
    assert duration_text(duration_ns) == text


def test_a_signed_duration_shows_a_gain_as_such() -> None:
    """An excess reads with its sign; nothing is neither gain nor loss."""
    assert [duration_text(value, signed=True) for value in (5_000, -5_000, 0)] == [
        "+5.00 µs",
        "−5.00 µs",
        "0 ns",
    ]


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_the_exact_text_keeps_every_digit(duration_ns: int) -> None:
    """A tooltip can be read back to the nanosecond."""
    text = exact_text(duration_ns).removesuffix(" ns").replace(",", "").replace("−", "-")
    assert int(text) == duration_ns


@given(st.integers(min_value=1, max_value=2**62))
def test_an_axis_has_readable_numbers(longest_ns: int) -> None:
    """The end of an axis reads at least 2 of its unit, and never more than four digits below the hour."""
    name, unit_ns = axis_unit(longest_ns)
    assert longest_ns >= 2 * unit_ns or unit_ns == 1
    assert longest_ns < 10_000 * unit_ns or name == "h"


def test_a_share_has_no_false_precision() -> None:
    """Small shares are not rounded to nothing, none is a dash."""
    assert [share_text(value) for value in (0.4567, 0.004, 0.0002, 0.0, -0.01, None)] == [
        "46 %", "0.4 %", "< 0.1 %", "0 %", "−1 %", "–",
    ]  # fmt: skip
