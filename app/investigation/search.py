"""The search for requests and steps: what they carry, how long they took, how they ended; choosing one opens it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.pick import ORDERS, TRACE_PAGE, unit_address
from investigation.sql_link import sql_link
from investigation.store import StoreFile, rows
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.schema import OUTCOMES, UnitKind
from tracekit.wording import counted, duration_text, moment_text, share_text

_LIMIT = 200
_NAMES = 1000
_WINDOWS = 120
_CELLS_A_DECADE = 12
_NS_A_MS = 1_000_000
_WIDTH = 160
HEAT = "latency_heat"
KINDS = (str(UnitKind.REQUEST), str(UnitKind.STEP))


class Search(NamedTuple):
    """What is searched for; the parameters of `queries/explore/found_units.sql`."""

    kind: str
    text: str | None
    service: str | None
    operation: str | None
    attribute: str | None
    value: str | None
    outcome: str | None
    least_ns: int
    below_ns: int | None
    first_ns: int | None
    last_ns: int | None
    stage: str | None
    least_share: float
    latest_first: bool


def search_section(file: StoreFile, address: Address) -> None:
    """The search, part of the address; the durations over time; and what is found. Ends the page on a bad address."""
    kinds = [kind for kind in KINDS if not rows(file, "explore/unit_names", kind=kind, limit=1).is_empty()]
    if not kinds:
        address.stop_if_refused()
        st.caption("No requests or training steps were made of these spans.")
        return
    search = _asked(file, kinds, address)
    address.stop_if_refused()
    _heat_section(file, search)
    found = rows(file, "explore/found_units", **search._asdict(), limit=_LIMIT)
    _found_table(found, search)
    sql_link("explore/found_units", **search._asdict(), limit=_LIMIT)


def _asked(file: StoreFile, kinds: list[str], address: Address) -> Search:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _choice("What", kinds, address, key="kind", default=kinds[0], missing="this store has none of these")
        text = st.text_input(
            "Search", key="text", bind="query-params", width=290, placeholder="name, service, model, id, attribute"
        )
        outcome = _choice("Ended", list(OUTCOMES), address, key="outcome", missing=f"they end {', '.join(OUTCOMES)}")
        least = _milliseconds("At least (ms)", key="least_ms")
        below = _milliseconds("Less than (ms)", key="below_ms")
        address.choice("order", ORDERS, missing=f"first come the {' or the '.join(ORDERS)}")
        order = st.segmented_control(
            "First", ORDERS, default="slowest", key="order", bind="query-params", required=True
        )
    services = rows(file, "explore/unit_populations").filter(kind=kind)["service_name"]
    names = rows(file, "explore/unit_names", kind=kind, limit=_NAMES)["name"]
    stages = rows(file, "explore/unit_stage_names", kind=kind)["stage"]
    attributes = rows(file, "explore/unit_attribute_names", kind=kind)["attribute"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        service = _choice("Service", _distinct(services), address, key="of", missing="no such service has any")
        operation = _choice("Operation", _distinct(names), address, key="operation", missing="none is called so")
        attribute = _choice(
            "Attribute", _distinct(attributes), address, key="has", missing="none has such an attribute"
        )
        value = st.text_input("is", key="is", bind="query-params", width=_WIDTH, disabled=attribute is None)
        stage = _choice("Stage", _distinct(stages), address, key="in", missing="none spent time in it")
        share = st.number_input(
            "for at least (%)", 0.0, 100.0, 0.0, key="share", bind="query-params", width=_WIDTH,
            step=5.0, format="%.9g", disabled=stage is None,
        )  # fmt: skip
    return Search(
        kind or kinds[0], text.strip() or None, service, operation, attribute, value.strip() or None, outcome,
        least or 0, below, _moment("first"), _moment("last"), stage, share / 100, order == "latest",
    )  # fmt: skip


def _choice(
    label: str, options: list[str], address: Address, *, key: str, missing: str, default: str | None = None
) -> str | None:
    address.choice(key, options, missing=missing)
    index = None if default is None else options.index(default)
    chosen = st.selectbox(label, options, index=index, key=key, bind="query-params", placeholder="any", width=_WIDTH)
    if chosen is not None:
        address.taken(key)
    return chosen


def _distinct(values: pl.Series) -> list[str]:
    return values.drop_nulls().unique(maintain_order=True).to_list()


def _milliseconds(label: str, *, key: str) -> int | None:
    """A duration in nanoseconds; None for none."""
    # Six decimals are nanoseconds: what a cell of the heat map hands over comes back as it was.
    value = st.number_input(
        label, min_value=0.0, value=None, key=key, bind="query-params", width=_WIDTH, format="%.9g", step=1.0
    )
    return None if value is None else round(value * _NS_A_MS)


def _moment(key: str) -> int | None:
    """A limit of the time of starting, as the heat map writes it into the address."""
    text = str(st.query_params.get(f"{key}_ns") or "")
    return int(text) if text.isascii() and text.isdigit() else None


def _heat_section(file: StoreFile, search: Search) -> None:
    """Durations over time; a click on a cell leaves those of the cell in the list."""
    population = {name: getattr(search, name) for name in ("kind", "service", "operation", "outcome")}
    cells = rows(file, "explore/latency_cells", **population, windows=_WINDOWS, cells_a_decade=_CELLS_A_DECADE)
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


def take_over_cell() -> None:
    """A click on a cell chooses its time and durations; a click beside the cells forgets them."""
    picked = st.session_state[HEAT].selection.cell
    cells: pl.DataFrame = st.session_state["latency_cells"]
    if not picked or not 0 <= int(picked[0]["number"]) < cells.height:
        forget_cell()
        return
    cell = cells.row(int(picked[0]["number"]), named=True)
    st.query_params["first_ns"], st.query_params["last_ns"] = str(cell["first_ns"]), str(cell["last_ns"])
    st.session_state["least_ms"] = cell["least_ns"] / _NS_A_MS
    st.session_state["below_ms"] = cell["below_ns"] / _NS_A_MS


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
    st.caption(f"{counted(total, search.kind)}{more}. Choose one to open its trace.")
    event = dataframe(
        _readable(found, search.stage), hide_index=True, key="found", on_select="rerun", selection_mode="single-row",
        placeholder="–", alt=f"{search.kind.capitalize()}s that the search finds",
    )  # fmt: skip
    if event.selection.rows:
        st.switch_page(TRACE_PAGE, query_params=unit_address(found.row(event.selection.rows[0], named=True)))


def _readable(found: pl.DataFrame, stage: str | None) -> pl.DataFrame:
    """The rows for people: columns without anything in them go."""
    times = {"e2e_ns": "duration", "ttft_ns": "first token after"}
    columns = [pl.Series("started (UTC)", [moment_text(start_ns) for start_ns in found["start_ns"]])]
    kept = ("service_name", "name", "model", "job_id", "attempt", "step", "rank", "outcome")
    columns += [found[name].rename(name.removesuffix("_name").removesuffix("_id")) for name in kept]
    columns += [
        pl.Series(label, [None if ns is None else duration_text(ns) for ns in found[name]], dtype=pl.String)
        for name, label in times.items()
    ]
    if stage is not None:
        shares = [share_text(ns / whole) for ns, whole in found.select("stage_ns", "e2e_ns").rows() if whole]
        columns.append(pl.Series(markdown(stage), shares, dtype=pl.String))
    columns += [found["output_tokens"].rename("tokens"), found["trace_id"].rename("trace")]
    return pl.DataFrame([column for column in columns if column.null_count() < len(column)])
