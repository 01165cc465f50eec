"""Units of time axes."""

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
