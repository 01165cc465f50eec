"""A timeline on the page with what is chosen in it: a span and its details, a range and its sum, the equal table."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.marks import equal_table, summed_range
from investigation.pick import SEEN
from investigation.span_details import span_details
from investigation.store import StoreFile
from investigation.timeline_component import Chosen, Seen, timeline
from tracekit.wording import counted, duration_text, exact_text, share_text

TABLE_ROWS = 5_000
"""Rows of the equal table on one page of it."""
_TOLD = "told_seen"
_MOST_DIGITS = 19
_BESIDE = (2.3, 1)
_PANEL_PX = 700


@dataclass(frozen=True)
class Drawn:
    """A timeline as it is drawn: its rows, what they own, and the bytes that the browser gets."""

    bars: pl.DataFrame
    segments: pl.DataFrame
    payload: bytes
    picked: int | None = None


@st.fragment
def with_what_is_chosen(file: StoreFile, trace_ids: list[str], drawn: Drawn, *, key: str) -> None:
    """The timeline, beside it what is chosen in it, below it the same rows as a table; runs again by itself."""
    left, right = st.columns(_BESIDE, gap="medium")
    with left:
        seen = asked_seen(key)
        chosen = timeline(drawn.payload, key=key, row_count=drawn.bars.height, picked=drawn.picked, seen=seen)
    _tell_seen(chosen)
    height = "content" if chosen.row is None else _PANEL_PX
    with right, st.container(height=height, border=False):
        if chosen.range_ns is not None:
            _range_section(drawn, *chosen.range_ns)
        if chosen.row is None:
            st.caption("Click a row, or press Enter on it, to see what its span carries. Drag to sum a range of time.")
        else:
            bar = drawn.bars.row(chosen.row, named=True)
            if chosen.row != drawn.picked and bar["span_id"] and st.query_params.get("trace") in trace_ids:
                st.query_params["span"] = st.session_state["told_span"] = bar["span_id"]
            span_details(file, trace_ids, bar)
    _table_section(drawn, key=f"table_{key}")


def asked_seen(key: str) -> Seen:
    """What the link shows of a timeline; what the timeline itself told the address does not come back.

    Else its data would change with each look at another part.
    """
    asked, name = tuple(_number(name) for name in SEEN), f"asked_seen_of_{key}"
    if name not in st.session_state or asked != st.session_state.get(_TOLD, asked):
        st.session_state[name] = Seen(_ends(*asked[:2]), _ends(*asked[2:]))
    found: Seen = st.session_state[name]
    return found


def _number(name: str) -> int | None:
    text = str(st.query_params.get(name) or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else None


def _ends(from_ns: int | None, to_ns: int | None) -> tuple[int, int] | None:
    return None if from_ns is None or to_ns is None or from_ns >= to_ns else (from_ns, to_ns)


def _tell_seen(chosen: Chosen) -> None:
    """The address of a page that shows one timeline has what is seen of it and the range that is summed."""
    if not {"trace", "step"} & set(st.query_params):
        return
    ends = (*(chosen.view_ns or (None, None)), *(chosen.range_ns or (None, None)))
    st.session_state[_TOLD] = ends
    for name, end in zip(SEEN, ends, strict=True):
        if end is None:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != str(end):
            st.query_params[name] = str(end)


@st.fragment
def timeline_alone(file: StoreFile, trace_id: str, drawn: Drawn, *, key: str) -> None:
    """A timeline in a narrow place: what is chosen in it stands below."""
    chosen = timeline(drawn.payload, key=key, row_count=drawn.bars.height, picked=drawn.picked)
    if chosen.range_ns is not None:
        _range_section(drawn, *chosen.range_ns)
    if chosen.row is not None:
        span_details(file, [trace_id], drawn.bars.row(chosen.row, named=True))
    _table_section(drawn, key=f"table_{key}")


def _range_section(drawn: Drawn, from_ns: int, to_ns: int) -> None:
    """Whose time it was in the range that is chosen; the rows sum to its owned time exactly."""
    by_stage = summed_range(drawn.segments, from_ns, to_ns)
    owned_ns = by_stage["self_ns"].sum()
    length_ns = to_ns - from_ns
    st.markdown(f"**{duration_text(length_ns)}** ({exact_text(length_ns)}), from {duration_text(from_ns)} on")
    if by_stage.is_empty():
        st.caption("Nobody owns time in this range.")
        return
    shown = by_stage.with_columns(pl.Series("share", [share_text(share) for share in by_stage["share"]]))
    dataframe(
        shown,
        column_config={"self_ns": st.column_config.NumberColumn("time (ns)", format="localized")},
        hide_index=True,
        alt="The range by stage",
    )
    lanes = drawn.bars.filter(depth=0).height
    over = f" over {counted(lanes, 'lane')}" if lanes > 1 else ""
    st.caption(f"Sum{over}: {duration_text(owned_ns)} ({exact_text(owned_ns)}).")


def _table_section(drawn: Drawn, *, key: str) -> None:
    """The rows of the timeline as a table, for those who read rather than look."""
    height = drawn.bars.height
    label = f"The same {counted(height, 'row')} as a table"
    with st.expander(label, icon=":material/table_rows:", key=key, on_change="rerun") as table:
        if not table.open:
            return
        pages = -(-height // TABLE_ROWS)
        page = 1
        if pages > 1:
            page = int(st.number_input(f"Page (of {pages})", 1, pages, 1, key=f"{key}_page", width=160))
        shown = equal_table(drawn.bars, drawn.segments).slice((page - 1) * TABLE_ROWS, TABLE_ROWS)
        dataframe(shown, hide_index=True, placeholder="–", alt="The rows of the timeline")
        if pages > 1:
            first = (page - 1) * TABLE_ROWS
            st.caption(f"Rows {first + 1:,} to {first + shown.height:,} of {height:,}.")
