"""Durations in words."""

from __future__ import annotations


def duration_text(duration_ns: int) -> str:
    """A duration for people: 1.23 s, 45.6 ms, 7.89 us, 12 ns."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)):
        if abs(duration_ns) >= size:
            return (
                f"{duration_ns / size:.3g} {unit}"
                if abs(duration_ns) < 1000 * size
                else f"{duration_ns / size:,.0f} s"
            )
    return f"{duration_ns} ns"
