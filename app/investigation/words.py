"""Numbers and moments as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_NS = 1_000_000_000


def count_text(count: int) -> str:
    """A count in full up to six digits, `12.3 M` beyond."""
    for name, size in (("G", 10**9), ("M", 10**6)):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,}"


def moment_text(moment_ns: int | None) -> str:
    """Nanoseconds since the epoch as a UTC time to the second; a dash for none."""
    if moment_ns is None:
        return "–"
    return f"{datetime.fromtimestamp(moment_ns // _NS, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 request`, `2 requests`."""
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"
