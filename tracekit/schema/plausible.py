"""Which times of spans can be: one source for making units and for judging data."""

from __future__ import annotations

from typing import Final

DAY_NS: Final = 86_400_000_000_000

FUTURE_TOLERANCE_NS: Final = DAY_NS
"""A span that starts or ends more than a day after its arrival has a wrong clock."""

PAST_TOLERANCE_NS: Final = 20 * 365 * DAY_NS
"""A span that starts more than twenty years before its arrival has a wrong clock or a wrong unit."""

LONGEST_REQUEST_NS: Final = DAY_NS
"""No span of a request lasts longer than a day."""
