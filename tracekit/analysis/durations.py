"""Durations in words."""

from __future__ import annotations

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
_LONG_NS = 9_999_500_000_000


def duration_text(duration_ns: int | None) -> str:
    """A duration in the unit that fits, up to four digits: `1.234 s`, `56.7 ms`, `12 ns`; `–` for none."""
    if duration_ns is None:
        return "–"
    if abs(duration_ns) >= _LONG_NS:
        return f"{duration_ns / 1_000_000_000:,.0f} s"
    for unit, size_ns in _UNITS:
        if abs(duration_ns) >= size_ns:
            return f"{duration_ns / size_ns:.4g} {unit}"
    return f"{duration_ns} ns"
