"""The axis of the time of day: UTC in 24 hours, whatever the reader's clock and habits are."""

from __future__ import annotations

import altair as alt

_TIMES = {"milliseconds": ".%L", "seconds": "%H:%M:%S", "minutes": "%H:%M", "hours": "%H:%M"}
_DAYS = dict.fromkeys(("date", "day", "week", "month", "quarter", "year"), "%Y-%m-%d")


def clock(field: str) -> alt.X:
    """The horizontal position of a time in milliseconds since the epoch; where a day begins stands its date."""
    axis = alt.Axis(grid=False, labelOverlap=True, tickCount=8, format=_TIMES | _DAYS)
    return alt.X(f"{field}:T", title="UTC", scale=alt.Scale(type="utc"), axis=axis)
