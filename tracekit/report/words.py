"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))


def duration(duration_ns: int | None) -> str:
    """Nanoseconds in the unit that fits, with three or four digits: `1.234 s`, `56.7 ms`; `–` for none."""
    if duration_ns is None:
        return "–"
    for unit, size_ns in _UNITS:
        if abs(duration_ns) >= size_ns:
            return f"{duration_ns / size_ns:.4g} {unit}" if abs(duration_ns) < 10_000 * size_ns else _long(duration_ns)
    return f"{duration_ns} ns"


def interval(low_ns: int | None, high_ns: int | None) -> str:
    """A 95 % interval, empty where there is none."""
    return "" if low_ns is None or high_ns is None else f"{duration(low_ns)} … {duration(high_ns)}"


def share(value: float | None) -> str:
    """A ratio as a percentage; `–` for none."""
    return "–" if value is None else f"{value:.1%}"


def moment(time_ns: int | None) -> str:
    """A time in UTC to the second; `–` for none."""
    return "–" if time_ns is None else f"{datetime.fromtimestamp(time_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S}Z"


def count(value: int, noun: str) -> str:
    """`1 span`, `2,000 spans`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def _long(duration_ns: int) -> str:
    return f"{duration_ns / 1_000_000_000:,.0f} s"
