"""How far the data of a served store had reached when it was looked at: what answers are kept under.

A session stays with what it saw until it is asked to look again; one that begins shares what another saw a moment ago,
so that two people wait for an answer once.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import streamlit as st

import tracekit as tk

SHARED_S = 30.0
_SEEN = "seen_marks"


class Mark(NamedTuple):
    """How far the data reached: the columns of `queries/explore/store_mark.sql`."""

    span_count: int = 0
    metric_point_count: int = 0
    log_count: int = 0
    unit_count: int = 0
    newest_ingest: int = -1
    built_through: int = -1

    @property
    def has_data(self) -> bool:
        """Something was sent."""
        return bool(self.span_count or self.metric_point_count or self.log_count)

    def holds_the_same_as(self, other: Mark) -> bool:
        """The same had arrived, however much of it was in requests and steps by then."""
        return self._replace(unit_count=0, built_through=0) == other._replace(unit_count=0, built_through=0)


def mark_now(path: str) -> Mark:
    """How far the data reaches now."""
    with tk.open(path, read_only=True) as store:
        return Mark(*(int(value) for value in store.query("explore/store_mark").row(0)))


def seen_mark(path: str) -> Mark:
    """What the session looks at; nothing is kept of an empty store."""
    seen: dict[str, Mark] = st.session_state.setdefault(_SEEN, {})
    if not seen.get(path, Mark()).has_data:
        seen[path] = _shared_mark(path)
    return seen[path]


def look_again(path: str) -> None:
    """Go on to what the data has reached now, here and for those who come."""
    mark = mark_now(path)
    _shared()[path] = (mark, time.monotonic())
    st.session_state.setdefault(_SEEN, {})[path] = mark


def new_spans(seen: Mark, now: Mark) -> int:
    """Spans that came since; less than none where old ones were pruned."""
    return now.span_count - seen.span_count


def _shared_mark(path: str) -> Mark:
    mark, taken_at = _shared().get(path, (Mark(), 0.0))
    if mark.has_data and time.monotonic() - taken_at < SHARED_S:
        return mark
    look_again(path)
    return st.session_state[_SEEN][path]


@st.cache_resource(show_spinner=False)
def _shared() -> dict[str, tuple[Mark, float]]:
    """What was seen last of each store, by whomever, and when."""
    marks: dict[str, Any] = {}
    return marks
