"""Axes of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracekit.charts.durations import axis_unit


@given(st.integers(min_value=1, max_value=2**62))
def test_an_axis_has_readable_numbers(longest_ns: int) -> None:
    """The end of an axis reads at least 2 of its unit, and never more than four digits below the hour."""
    name, unit_ns = axis_unit(longest_ns)
    assert longest_ns >= 2 * unit_ns or unit_ns == 1
    assert longest_ns < 10_000 * unit_ns or name == "h"
