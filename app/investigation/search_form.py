"""What the search of the trace page asks for; every choice is part of the page's address."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.pick import ORDERS
from investigation.scope import said_unused, scope
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown
from tracekit.schema import Outcome, UnitKind

TRACE = "trace"
"""Whatever has a trace id, also where no request or step was made of it."""

KINDS = (str(UnitKind.REQUEST), str(UnitKind.STEP), TRACE)
NS_A_MS = 1_000_000
_NAMES = 1000
_WIDTH = 150


class Search(NamedTuple):
    """What is searched for; the parameters of `queries/explore/found_units.sql`."""

    kind: str
    text: str | None
    service: str | None
    model: str | None
    tenant_key: str | None
    tenant: str | None
    job: str | None
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

    @property
    def population(self) -> dict[str, object]:
        """Whom the heat map is drawn of; parameters of `queries/explore/latency_cells.sql`."""
        names = (
            "kind",
            "service",
            "model",
            "tenant_key",
            "tenant",
            "job",
            "operation",
            "outcome",
            "first_ns",
            "last_ns",
        )
        return {name: getattr(self, name) for name in names}

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
            "Search", key="text", bind="query-params", width="stretch", placeholder="name, service, id, attribute"
        )
        least, below = _milliseconds("At least (ms)", key="least_ms"), _milliseconds("Less than (ms)", key="below_ms")
        address.choice("order", ORDERS, missing=f"first come the {' or the '.join(ORDERS)}")
        order = st.segmented_control(
            "First", ORDERS, default="slowest", key="order", bind="query-params", required=True
        )
        search = _in_scope(kind, text.strip() or None, least or 0, below, is_latest=order == "latest")
        if kind != TRACE:
            with st.popover("More", icon=":material/tune:"):
                search = _of_units(file, search, address)
    if kind == TRACE:
        for key in ("operation", "has", "is", "in", "share"):
            address.unused(key, why="it is about requests and steps, and traces are asked for")
    address.stop_if_refused()
    _say_what_is_asked(search)
    return search


def _in_scope(kind: str, text: str | None, least_ns: int, below_ns: int | None, *, is_latest: bool) -> Search:
    """What is searched for inside the scope, without what only units can be asked for."""
    filters = scope() if kind == TRACE else scope().of(kind)
    has_tenant = filters.tenant is not None and filters.tenant_key is not None
    return Search(
        kind, text, filters.service, filters.model, filters.tenant_key if has_tenant else None, filters.tenant,
        filters.job, None, None, None, filters.outcome, least_ns, below_ns, filters.since_ns, filters.until_ns, None,
        0.0, is_latest,
    )  # fmt: skip


def _say_what_is_asked(search: Search) -> None:
    """Choices that are out of sight are not out of mind."""
    if search.kind == TRACE:
        names = ("model", "tenant", "job", "since_ns", "until_ns", "condition")
        said_unused(*names, why="traces are asked for, and those are of requests and steps")
        return
    said_unused("condition", *scope().not_of(search.kind), why="the search cannot ask for it")
    parts = [f"operation {markdown(search.operation)}"] if search.operation else []
    parts += [f"{markdown(search.attribute)} {markdown(search.value or 'given')}"] if search.attribute else []
    parts += [f"at least {search.least_share:.0%} in {markdown(search.stage)}"] if search.stage else []
    if parts:
        st.caption("Only those with " + ", ".join(parts) + ".")


def _of_units(file: StoreFile, search: Search, address: Address) -> Search:
    stages = rows(file, "explore/unit_stage_names", kind=search.kind)["stage"]
    attributes = rows(file, "explore/unit_attribute_names", kind=search.kind)["attribute"]
    names = _distinct(_names(file, search.kind))
    operation = _choice("Operation", names, address, key="operation", missing="none is called so")
    attribute = _choice("Attribute", _distinct(attributes), address, key="has", missing="none has such an attribute")
    value = st.text_input("is", key="is", bind="query-params", width=_WIDTH, disabled=attribute is None)
    stage = _choice("Stage", _distinct(stages), address, key="in", missing="none spent time in it")
    share = st.number_input(
        "for at least (%)", 0.0, 100.0, 0.0, key="share", bind="query-params", width=_WIDTH,
        step=5.0, format="%.9g", disabled=stage is None,
    )  # fmt: skip
    return search._replace(
        operation=operation, attribute=attribute, value=value.strip() or None, stage=stage,
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
