"""What the search of the trace page asks for; every choice is part of the page's address."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.pick import ORDERS
from investigation.store import StoreFile, rows
from tracekit.schema import OUTCOMES, Outcome, UnitKind

TRACE = "trace"
"""Whatever has a trace id, also where no request or step was made of it."""

KINDS = (str(UnitKind.REQUEST), str(UnitKind.STEP), TRACE)
NS_A_MS = 1_000_000
_NAMES = 1000
_WIDTH = 160


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

    def of_traces(self) -> dict[str, object]:
        """The part of it that traces can be asked for; the parameters of `queries/explore/found_traces.sql`."""
        names = ("text", "service", "operation", "least_ns", "below_ns", "latest_first")
        return {name: getattr(self, name) for name in names} | {"is_failed": self.outcome == Outcome.FAILED}


def asked(file: StoreFile, address: Address) -> Search:
    """Draw the inputs and read them. Ends the page where the address asks for what is not here."""
    kinds = [kind for kind in KINDS if kind == TRACE or not _names(file, kind).is_empty()]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _choice("What", kinds, address, key="kind", default=kinds[0], missing="this store has none of these")
        kind = kind or kinds[0]
        text = st.text_input(
            "Search", key="text", bind="query-params", width=230, placeholder="name, service, id, attribute"
        )
        endings = [str(Outcome.FAILED)] if kind == TRACE else list(OUTCOMES)
        outcome = _choice("Ended", endings, address, key="outcome", missing=f"they end {', '.join(endings)}")
        least, below = _milliseconds("At least (ms)", key="least_ms"), _milliseconds("Less than (ms)", key="below_ms")
        address.choice("order", ORDERS, missing=f"first come the {' or the '.join(ORDERS)}")
        order = st.segmented_control(
            "First", ORDERS, default="slowest", key="order", bind="query-params", required=True
        )
    search = Search(
        kind, text.strip() or None, None, None, None, None, outcome, least or 0, below, _moment("first"),
        _moment("last"), None, 0.0, order == "latest",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        search = _of_traces(file, search, address) if kind == TRACE else _of_units(file, search, address)
    address.stop_if_refused()
    return search


def _of_traces(file: StoreFile, search: Search, address: Address) -> Search:
    for key in ("operation", "has", "is", "in", "share"):
        address.unused(key, why="it is about requests and steps, and traces are asked for")
    services = rows(file, "explore/services")["service_name"]
    return search._replace(service=_choice("Service", _distinct(services), address, key="of", missing=_NO_SERVICE))


_NO_SERVICE = "no such service has any"


def _of_units(file: StoreFile, search: Search, address: Address) -> Search:
    services = rows(file, "explore/unit_populations").filter(kind=search.kind)["service_name"]
    stages = rows(file, "explore/unit_stage_names", kind=search.kind)["stage"]
    attributes = rows(file, "explore/unit_attribute_names", kind=search.kind)["attribute"]
    names = _distinct(_names(file, search.kind))
    service = _choice("Service", _distinct(services), address, key="of", missing=_NO_SERVICE)
    operation = _choice("Operation", names, address, key="operation", missing="none is called so")
    attribute = _choice("Attribute", _distinct(attributes), address, key="has", missing="none has such an attribute")
    value = st.text_input("is", key="is", bind="query-params", width=_WIDTH, disabled=attribute is None)
    stage = _choice("Stage", _distinct(stages), address, key="in", missing="none spent time in it")
    share = st.number_input(
        "for at least (%)", 0.0, 100.0, 0.0, key="share", bind="query-params", width=_WIDTH,
        step=5.0, format="%.9g", disabled=stage is None,
    )  # fmt: skip
    return search._replace(
        service=service, operation=operation, attribute=attribute, value=value.strip() or None, stage=stage,
        least_share=share / 100,
    )  # fmt: skip


def _names(file: StoreFile, kind: str) -> pl.Series:
    return rows(file, "explore/unit_names", kind=kind, limit=_NAMES)["name"]


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
        label, min_value=0.0, value=None, key=key, bind="query-params", width=_WIDTH, format="%.15g", step=1.0
    )
    return None if value is None else round(value * NS_A_MS)


def _moment(key: str) -> int | None:
    """A limit of the time of starting, as the heat map writes it into the address."""
    text = str(st.query_params.get(f"{key}_ns") or "")
    return int(text) if text.isascii() and text.isdigit() else None
