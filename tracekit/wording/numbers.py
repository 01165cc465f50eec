"""Durations, shares, counts and moments as people read them: one way for text, report, charts and app."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
_LONG_NS = 9_999_500_000_000
_LARGE_COUNTS = (("G", 10**9), ("M", 10**6))
NONE = "–"
"""What stands where there is no number."""


def duration_text(duration_ns: int | float | None, *, signed: bool = False) -> str:
    """A duration in the unit that fits, up to four digits: `1.234 s`, `56.7 ms`, `12 ns`; `–` for none.

    `signed` puts a plus before gains. Rounded for reading: sums and comparisons belong to the nanoseconds.
    """
    if duration_ns is None:
        return NONE
    sign = "+" if signed and duration_ns > 0 else ""
    if abs(duration_ns) >= _LONG_NS:
        return f"{sign}{duration_ns / 1_000_000_000:,.0f} s"
    for unit, size_ns in _UNITS:
        if abs(duration_ns) >= size_ns:
            return f"{sign}{duration_ns / size_ns:.4g} {unit}"
    return f"{sign}{duration_ns:.4g} ns"


def period_text(period_ns: int | None) -> str:
    """How long data or a process lasts: `5 h 50 min`, `3 d 4 h`, `12 min 5 s`; below a minute as `duration_text`."""
    if period_ns is None or abs(period_ns) < 60_000_000_000:
        return duration_text(period_ns)
    left_s = round(period_ns / 1_000_000_000)
    parts = []
    for unit, size_s in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left_s = divmod(left_s, size_s)
        parts.append((count, unit))
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count:,} {unit}" for count, unit in parts[first : first + 2] if count)


def exact_text(duration_ns: int | None) -> str:
    """All digits of a duration, grouped: `91,012,345 ns`; `–` for none."""
    return NONE if duration_ns is None else f"{duration_ns:,} ns"


def difference_text(excess_ns: int) -> str:
    """How much longer or shorter: `12 ms more`, `3 µs less`."""
    return f"{duration_text(abs(excess_ns))} {'more' if excess_ns >= 0 else 'less'}"


def interval_text(low_ns: int | None, high_ns: int | None) -> str:
    """A 95 % interval, empty where there is none."""
    return "" if low_ns is None or high_ns is None else f"{duration_text(low_ns)} … {duration_text(high_ns)}"


def share_text(share: float | None) -> str:
    """A ratio as a percentage with one digit: `46.3%`; `–` for none."""
    # Less than nothing by a hundredth of a per cent reads as nothing.
    return NONE if share is None else f"{share:z.1%}"


def moment_text(time_ns: int | None) -> str:
    """A time in UTC to the second; `–` for none."""
    return NONE if time_ns is None else f"{datetime.fromtimestamp(time_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S}Z"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: `1 span`, `2,000 spans`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def count_text(count: int) -> str:
    """A count for a figure: in full up to six digits, `12.3 M` beyond."""
    for name, size in _LARGE_COUNTS:
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,}"


def chance_text(probability: float) -> str:
    """A small probability with two digits: `0.56%`; `less than 0.01%` below that."""
    return "less than 0.01%" if probability < 0.0001 else f"{probability:.2%}"
