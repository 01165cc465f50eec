"""The timeline on the page: its source is `app/timeline`, and what is chosen in it comes back."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

# Offsets beyond do not fit the column that they are compared with.
_LATEST_NS = 2**62
_SOURCE = Path(__file__).parents[1] / "timeline"


def _source(ending: str) -> str:
    """The files of the component in their order, as one."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(_SOURCE.glob(f"*.{ending}")))


_mounted = st.components.v2.component("tracekit_timeline", html=_source("html"), css=_source("css"), js=_source("js"))


_Range = tuple[int, int] | None


class Seen(NamedTuple):
    """What a link shows of a timeline: the time that is seen and a range to sum, as offsets; None for none."""

    view_ns: _Range = None
    range_ns: _Range = None


NOTHING_ASKED = Seen()


class Chosen(NamedTuple):
    """What was chosen in a timeline: a row, a range of time as offsets `[from_ns, to_ns)`, and the time that is seen
    where it is not the whole; None for none."""

    row: int | None
    range_ns: _Range
    view_ns: _Range = None


def timeline(
    packed: bytes, *, key: str, row_count: int, picked: int | None = None, seen: Seen = NOTHING_ASKED
) -> Chosen:
    """Draw what `investigation.timeline_payload.packed` made; returns what is chosen in it, at first `picked` and what
    `seen` shows."""
    result = _mounted(
        data=with_seen(packed, seen),
        key=key,
        on_picked_change=lambda: None,
        on_range_change=lambda: None,
        on_view_change=lambda: None,
    )
    chosen = chosen_in(result, row_count=row_count)
    # What was taken back in the browser is an empty list; nothing at all means that it was not touched.
    if result.get("range") is None:
        chosen = chosen._replace(range_ns=seen.range_ns)
    if result.get("view") is None:
        chosen = chosen._replace(view_ns=seen.view_ns)
    return chosen if chosen.row is not None else chosen._replace(row=picked)


def chosen_in(result: Mapping[str, Any], *, row_count: int) -> Chosen:
    """What a browser sent, looked at before it is used: a row that is not there, a range that is none are nothing."""
    row = result.get("picked")
    is_row = isinstance(row, int) and not isinstance(row, bool) and 0 <= row < row_count
    return Chosen(row if is_row else None, _range(result.get("range")), _range(result.get("view")))


def with_seen(packed: bytes, seen: Seen) -> bytes:
    """A packed trace with the ends of what is seen and of the range behind it, as floats; NaN for none.

    The content and its id stay, so that a timeline that is drawn already stays as it is.
    """
    ends = [math.nan if ends is None else float(ends[place]) for ends in seen for place in (0, 1)]
    return packed + struct.pack("<4d", *ends)


def _range(ends: object) -> tuple[int, int] | None:
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    if not all(isinstance(end, int | float) and math.isfinite(end) for end in ends):
        return None
    from_ns, to_ns = (round(end) for end in ends)
    return (from_ns, to_ns) if 0 <= from_ns < to_ns <= _LATEST_NS else None
