"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from tracekit.analysis.durations import duration_text


def interval(low_ns: int | None, high_ns: int | None) -> str:
    """A 95 % interval, empty where there is none."""
    return "" if low_ns is None or high_ns is None else f"{duration_text(low_ns)} … {duration_text(high_ns)}"


def share(value: float | None) -> str:
    """A ratio as a percentage; `–` for none."""
    return "–" if value is None else f"{value:.1%}"


def moment(time_ns: int | None) -> str:
    """A time in UTC to the second; `–` for none."""
    return "–" if time_ns is None else f"{datetime.fromtimestamp(time_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S}Z"


def count(value: int, noun: str) -> str:
    """`1 span`, `2,000 spans`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"
