"""Durations for people: one unit an axis, three digits in a sentence, exact nanoseconds in a tooltip."""

from __future__ import annotations

_UNITS = (
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("µs", 1_000),
)


def axis_unit(longest_ns: int) -> tuple[str, int]:
    """Name and nanoseconds of the unit in which an axis up to `longest_ns` has readable numbers."""
    for name, unit_ns in _UNITS:
        if abs(longest_ns) >= 2 * unit_ns:
            return name, unit_ns
    return "ns", 1


def duration_text(duration_ns: int | float, *, signed: bool = False) -> str:
    """A duration with three significant digits, such as `91.0 ms`; `signed` puts a plus before gains.

    Rounded for reading: sums and comparisons belong to the nanoseconds.
    """
    sign = "−" if duration_ns < 0 else "+" if signed and duration_ns > 0 else ""
    size = abs(duration_ns)
    for name, unit_ns in _UNITS:
        # 999.6 µs would read "1000 µs": what rounds up to the next unit is shown in it.
        if size >= unit_ns * 0.9995:
            return f"{sign}{_three_digits(size / unit_ns)} {name}"
    return f"{sign}{_three_digits(size) if isinstance(size, float) else size} ns"


def exact_text(duration_ns: int) -> str:
    """All digits of a duration, grouped: `91,012,345 ns`."""
    return f"{duration_ns:,} ns".replace("-", "−")


def share_text(share: float | None) -> str:
    """A ratio as a percentage without false precision: `46 %`, `0.4 %`, and a dash for none."""
    if share is None:
        return "–"
    percent = share * 100
    if 0 < abs(percent) < 0.1:
        return "< 0.1 %"
    digits = 1 if abs(percent) < 1 and percent else 0
    return f"{percent:.{digits}f} %".replace("-", "−")


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
