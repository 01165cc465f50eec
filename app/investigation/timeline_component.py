"""The timeline on the page: its source is `app/timeline`, and what is chosen in it comes back."""

from __future__ import annotations

import math
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


class Chosen(NamedTuple):
    """What was chosen in a timeline: a row, and a range of time as offsets `[from_ns, to_ns)`; None for neither."""

    row: int | None
    range_ns: tuple[int, int] | None


def timeline(packed: bytes, *, key: str, row_count: int, picked: int | None = None) -> Chosen:
    """Draw what `investigation.timeline_payload.packed` made; returns what is chosen in it, at first `picked`."""
    result = _mounted(data=packed, key=key, on_picked_change=lambda: None, on_range_change=lambda: None)
    chosen = chosen_in(result, row_count=row_count)
    return chosen if chosen.row is not None else chosen._replace(row=picked)


def chosen_in(result: Mapping[str, Any], *, row_count: int) -> Chosen:
    """What a browser sent, looked at before it is used: a row that is not there, a range that is none are nothing."""
    row = result.get("picked")
    is_row = isinstance(row, int) and not isinstance(row, bool) and 0 <= row < row_count
    return Chosen(row if is_row else None, _range(result.get("range")))


def _range(ends: object) -> tuple[int, int] | None:
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    if not all(isinstance(end, int | float) and math.isfinite(end) for end in ends):
        return None
    from_ns, to_ns = (round(end) for end in ends)
    return (from_ns, to_ns) if 0 <= from_ns < to_ns <= _LATEST_NS else None
