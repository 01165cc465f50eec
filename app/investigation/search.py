"""The search for requests, steps and traces: durations over time, and a list; choosing one opens it."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.pick import TRACE_PAGE, unit_address
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
    """Durations over time; a click on a cell leaves those of the cell in the list."""
    population = {name: getattr(search, name) for name in ("kind", "service", "operation", "outcome")}
    cells = rows(file, "explore/latency_cells", **population, window_count=_WINDOWS, cells_a_decade=_FINENESS[0])
    fineness = fitting(cells)
    if fineness > _FINENESS[0]:
        cells = rows(file, "explore/latency_cells", **population, window_count=_WINDOWS, cells_a_decade=fineness)
    if cells.is_empty():
        return
    st.session_state["latency_cells"] = cells
    st.altair_chart(
        charts.latency_heat(cells), key=HEAT, on_select=take_over_cell, alt="Durations over time, by number of units"
    )
    if search.first_ns is not None or search.last_ns is not None:
        since, until = (moment_text(ns) for ns in (search.first_ns, search.last_ns))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Only those that started from {since} to {until}.")
            st.button("All times", icon=":material/backspace:", key="all_times", on_click=forget_cell)
    else:
        st.caption("Darker: more of them. Framed in red: some failed. Click a cell to list what is in it.")


def fitting(cells: pl.DataFrame) -> int:
    """How finely durations are told apart, in cells a decade, so that a chart is at most eighty cells high."""
    least, below = cells["least_ns"].min(), cells["below_ns"].max()
    decades = math.log10(max(below, 1) / max(least, 1)) if cells.height else 0
    return max((each for each in _FINENESS if each * decades <= _MOST_CELLS_HIGH), default=_FINENESS[0])


def take_over_cell() -> None:
    """A click on a cell chooses its time and durations; a click beside the cells forgets them."""
    picked = st.session_state[HEAT].selection.cell
    cells: pl.DataFrame = st.session_state["latency_cells"]
    if not picked or not 0 <= int(picked[0]["number"]) < cells.height:
        forget_cell()
        return
    cell = cells.row(int(picked[0]["number"]), named=True)
    st.query_params["first_ns"], st.query_params["last_ns"] = str(cell["first_ns"]), str(cell["last_ns"])
    st.session_state["least_ms"] = cell["least_ns"] / NS_A_MS
    st.session_state["below_ms"] = cell["below_ns"] / NS_A_MS


def forget_cell() -> None:
    """All times and all durations again."""
    for key in ("first_ns", "last_ns"):
        st.query_params.pop(key, None)
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
