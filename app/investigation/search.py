"""The search for requests, steps and traces: durations over time, and a list; choosing one opens it."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.pick import TRACE_PAGE, unit_address
from investigation.scope import all_times, narrow_to_time
from investigation.search_form import NS_A_MS, TRACE, Search, asked
from investigation.sql_link import sql_link
from investigation.store import StoreFile, rows
from tracekit import charts
from tracekit.foreign import named
from tracekit.wording import counted, duration_text, moment_text, share_text

_LIMIT = 200
_WINDOWS = 120
_MOST_CELLS_HIGH = 80
_FINENESS = (3, 6, 12, 24, 48, 96)
HEAT = "latency_heat"
_DURATIONS = {"e2e_ns": "duration", "ttft_ns": "first token after"}


def search_section(file: StoreFile, address: Address) -> None:
    """The search, part of the address; the durations over time; and what is found."""
    search = asked(file, address)
    if search.kind == TRACE:
        query, parameters = "explore/found_traces", search.of_traces()
    else:
        query, parameters = "explore/found_units", search._asdict()
        _heat_section(file, search)
    found = rows(file, query, **parameters, limit=_LIMIT)
    _found_table(found, search)
    sql_link(query, **parameters, limit=_LIMIT)


def _heat_section(file: StoreFile, search: Search) -> None:
    """Durations over time; a rectangle that is dragged leaves those inside it, here and on the other pages."""
    cells = rows(file, "explore/latency_cells", **search.population, window_count=_WINDOWS, cells_a_decade=_FINENESS[0])
    fineness = fitting(cells)
    if fineness > _FINENESS[0]:
        cells = rows(file, "explore/latency_cells", **search.population, window_count=_WINDOWS, cells_a_decade=fineness)
    if cells.is_empty():
        return
    st.session_state["latency_cells"] = cells
    st.altair_chart(
        charts.latency_heat(cells), key=HEAT, on_select=take_over_cell, alt="Durations over time, by number of units"
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Darker: more of them. Framed in red: some failed. Click a cell, or drag, to list what is in it.")
        if search.first_ns is not None or search.last_ns is not None:
            st.button("All times", icon=":material/backspace:", key="all_times", type="tertiary", on_click=forget_cell)


def fitting(cells: pl.DataFrame) -> int:
    """How finely durations are told apart, in cells a decade, so that a chart is at most eighty cells high."""
    least, below = cells["least_ns"].min(), cells["below_ns"].max()
    decades = math.log10(max(below, 1) / max(least, 1)) if cells.height else 0
    return max((each for each in _FINENESS if each * decades <= _MOST_CELLS_HIGH), default=_FINENESS[0])


def take_over_cell() -> None:
    """A cell that is clicked or a rectangle that is dragged chooses time and durations; a click beside forgets them."""
    selection = st.session_state[HEAT].selection
    cells: pl.DataFrame = st.session_state["latency_cells"]
    area, picked = selection.get("area") or {}, selection.get("cell")
    if area.get("start_ms") and area.get("least"):
        _, unit_ns = charts.axis_unit(int(max(cells["below_ns"].to_list())))
        first_ns, last_ns = (round(ms) * NS_A_MS for ms in area["start_ms"])
        least_ns, below_ns = (round(end * unit_ns) for end in sorted(area["least"]))
    elif picked and 0 <= int(picked[0]["number"]) < cells.height:
        first_ns, last_ns, least_ns, below_ns = cells.row(int(picked[0]["number"]))[:4]
    else:
        forget_cell()
        return
    narrow_to_time(first_ns, last_ns)
    st.session_state["least_ms"], st.session_state["below_ms"] = least_ns / NS_A_MS, below_ns / NS_A_MS


def forget_cell() -> None:
    """All times and all durations again."""
    all_times()
    st.session_state["least_ms"] = st.session_state["below_ms"] = None


def _found_table(found: pl.DataFrame, search: Search) -> None:
    if found.is_empty():
        st.caption(f"No {search.kind} is found.")
        return
    total = found["found_count"][0]
    more = f"; the first {found.height} are shown" if total > found.height else ""
    st.caption(f"{counted(total, search.kind)}{more}. Choose one to open it.")
    event = dataframe(
        _readable(found, search.stage), hide_index=True, key="found", on_select="rerun", selection_mode="single-row",
        placeholder="–", alt=f"{search.kind.capitalize()}s that the search finds",
    )  # fmt: skip
    if event.selection.rows:
        chosen = found.row(event.selection.rows[0], named=True)
        st.switch_page(TRACE_PAGE, query_params=unit_address(chosen))


def _readable(found: pl.DataFrame, stage: str | None) -> pl.DataFrame:
    """The rows for people: durations as texts, columns without anything in them gone."""
    labels = {
        "service_name": "service", "job_id": "job", "span_count": "spans", "error_count": "failed spans",
        "output_tokens": "tokens", "trace_id": "trace",
    }  # fmt: skip
    columns = [_texts(found["start_ns"], "started (UTC)", moment_text)]
    for name in found.columns:
        if name in _DURATIONS:
            columns.append(_texts(found[name], _DURATIONS[name], duration_text))
        elif name == "stage_ns":
            shares = [share_text(ns / whole) if ns else None for ns, whole in found.select(name, "e2e_ns").rows()]
            columns.append(pl.Series(f"in {named(stage or '')}", shares, dtype=pl.String))
        elif name not in ("start_ns", "found_count"):
            columns.append(found[name].rename(labels.get(name, name)))
    return pl.DataFrame([column for column in columns if column.null_count() < len(column)])


def _texts(values: pl.Series, label: str, say: Callable[[int], str]) -> pl.Series:
    return pl.Series(label, [None if value is None else say(value) for value in values], dtype=pl.String)
