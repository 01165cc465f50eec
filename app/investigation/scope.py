"""Which part of a store every page is about: chosen in the header, kept in the address, carried from page to page."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import polars as pl
import streamlit as st

from investigation.address import SCOPE_KEYS, Address
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown, markdown_code
from tracekit.schema import OUTCOMES, TENANT_KEYS, UnitKind

_SCOPE = "scope"
_TENANTS = 200
_NS_A_S = 1_000_000_000
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)?Z?", re.ASCII)
_NOT_OF = {UnitKind.REQUEST: ("job",), UnitKind.STEP: ("model", "tenant")}


@dataclass(frozen=True)
class Filters:
    """Which units enter; None leaves a filter out."""

    service: str | None = None
    model: str | None = None
    job: str | None = None
    tenant: str | None = None
    tenant_key: str | None = None
    outcome: str | None = None
    attribute_condition: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    condition: str | None = None

    def sql(self) -> str | None:
        """The filters as one SQL condition over the view `units`; None where there is no filter.

        The outcome is not in it: questions take it apart from other conditions.
        """
        tenant = self.tenant and self.tenant_key and tenant_condition(self.tenant_key, self.tenant)
        parts = [
            self.service and f"service_name = {literal(self.service)}",
            self.model and f"model = {literal(self.model)}",
            self.job and f"job_id = {literal(self.job)}",
            tenant,
            self.attribute_condition,
            f"start_ns >= {self.since_ns}" if self.since_ns is not None else None,
            f"start_ns < {self.until_ns}" if self.until_ns is not None else None,
            # A line of its own, so that a comment at its end swallows nothing.
            self.condition and f"({self.condition}\n)",
        ]
        return " AND ".join(part for part in parts if part) or None

    def sql_with_outcome(self) -> str | None:
        """As `sql`, and how the units ended."""
        ended = self.outcome and f"outcome = {literal(self.outcome)}"
        return " AND ".join(part for part in (ended, self.sql()) if part) or None

    def of(self, kind: str) -> Filters:
        """The filters that units of a kind can have: steps have no model and no tenant, requests no job."""
        return replace(self, **dict.fromkeys(_NOT_OF[UnitKind(kind)]))

    def not_of(self, kind: str) -> list[str]:
        """The names of the filters that are set and that units of a kind cannot have."""
        return [name for name in _NOT_OF[UnitKind(kind)] if getattr(self, name) is not None]


def literal(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def tenant_condition(key: str, tenant: str) -> str:
    """The condition that an attribute has a value, as text."""
    return f"attributes[{literal(key)}]::VARCHAR = {literal(tenant)}"


def moment_ns(text: str) -> int | None:
    """Nanoseconds since the epoch of a time in UTC as the address has it; None where it is no time.

    >>> moment_ns("2026-11-30T05:36:10.000000001Z") - moment_ns("2026-11-30 05:36:10")
    1
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    day, clock, fraction = found.groups()
    try:
        seconds = datetime.fromisoformat(f"{day}T{clock or '00:00'}").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return int(seconds) * _NS_A_S + int((fraction or "0").ljust(9, "0"))


def address_moment(ns: int) -> str:
    """A time as the address has it, exact to the nanosecond; `moment_ns` reads it.

    >>> address_moment(1_796_016_970_250_000_000)
    '2026-11-30T05:36:10.25Z'
    """
    seconds, rest = divmod(ns, _NS_A_S)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def scope() -> Filters:
    """What the header chooses."""
    found: Filters = st.session_state.get(_SCOPE, Filters())
    return found


def scope_bar(file: StoreFile) -> None:
    """Draw the choices of the scope and read them; `stop_if_scope_is_refused` ends the page below its title."""
    address = Address(_SCOPE, None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="scope_bar"):
        with st.popover("Scope", icon=":material/filter_alt:"):
            chosen = _choices(file, address)
        said = scope_text(chosen)
        st.caption(said or "Everything in this store")
        if said:
            st.button("Clear", key="clear_scope", type="tertiary", icon=":material/close:", on_click=clear_scope)
    st.session_state[_SCOPE] = chosen


def stop_if_scope_is_refused() -> None:
    """End the page where the address names a scope that is not here."""
    Address(_SCOPE, None).stop_if_refused()


def clear_scope() -> None:
    """Everything in the store again."""
    for key in SCOPE_KEYS:
        st.session_state[key] = "" if key in ("since", "until", "where") else None


def narrow(**chosen: str | None) -> None:
    """Choose values of the scope, as a click on a chart or a table does; for callbacks."""
    st.session_state.update(chosen)


def narrow_to_time(first_ns: int, last_ns: int) -> None:
    """Only what starts in `[first_ns, last_ns)`; for callbacks."""
    narrow(since=address_moment(first_ns), until=address_moment(last_ns))


def all_times() -> None:
    """Whenever it started; for callbacks."""
    narrow(since="", until="")


def and_where(condition: str) -> None:
    """A further SQL condition; for callbacks. One that is there already stays once."""
    now = str(st.session_state.get("where") or "").strip()
    if condition not in now:
        narrow(where=f"({now}) AND {condition}" if now else condition)


def scope_text(chosen: Filters) -> str:
    """The scope in a line of Markdown; empty without one."""
    names = ("service", "model", "tenant", "job", "outcome")
    parts = [f"{name} {markdown(value)}" for name in names if (value := getattr(chosen, name)) is not None]
    parts += [f"from {address_moment(chosen.since_ns)}"] if chosen.since_ns is not None else []
    parts += [f"until {address_moment(chosen.until_ns)}"] if chosen.until_ns is not None else []
    parts += [markdown_code(chosen.condition)] if chosen.condition else []
    return " · ".join(parts)


def said_unused(*names: str, why: str) -> None:
    """Say which parts of the scope a page cannot follow, where they are chosen."""
    chosen = [name for name in names if getattr(scope(), name) is not None]
    if chosen:
        verb = "is" if len(chosen) == 1 else "are"
        st.caption(f":material/info: The scope's {' and '.join(map(_label, chosen))} {verb} not used here: {why}.")


def said_whole_store() -> None:
    """Say that a page is about all of the store, where a scope is chosen."""
    if scope() != Filters(tenant_key=scope().tenant_key):
        st.caption(":material/info: The scope is not used here: what is shown is of the whole store.")


def _label(name: str) -> str:
    return {"since_ns": "start", "until_ns": "end", "condition": "SQL condition"}.get(name, name)


def _choices(file: StoreFile, address: Address) -> Filters:
    populations = rows(file, "explore/unit_populations")
    key, tenants = _tenants(file)
    left, right = st.columns(2)
    with left:
        service = choice_input("Service", populations["service_name"], address, key="service")
        model = choice_input("Model", populations["model"], address, key="model")
        tenant = choice_input("Tenant", tenants, address, key="tenant")
    with right:
        job = choice_input("Job", populations["job_id"], address, key="job")
        outcome = choice_input("Ended", pl.Series(list(OUTCOMES)), address, key="outcome")
    with left:
        since_ns = _moment("Started from (UTC)", address, key="since")
    with right:
        until_ns = _moment("Started before (UTC)", address, key="until")
    condition = condition_input("SQL condition over units", key="where", example="input_tokens > 1000")
    return Filters(
        service=service, model=model, job=job, tenant=tenant, tenant_key=key, outcome=outcome, since_ns=since_ns,
        until_ns=until_ns, condition=condition,
    )  # fmt: skip


def _tenants(file: StoreFile) -> tuple[str | None, pl.Series]:
    """The attribute that names the tenants of requests, and the most frequent of them."""
    known = rows(file, "goodput/known_keys", keys=list(TENANT_KEYS))["key"].to_list()
    key = next((key for key in TENANT_KEYS if key in known), None)
    if key is None:
        return None, pl.Series(dtype=pl.String)
    return key, rows(file, "explore/unit_attribute_values", kind="request", attribute=key, limit=_TENANTS)["value"]


def choice_input(
    label: str, values: pl.Series, address: Address, *, key: str, width: int | Literal["stretch"] = "stretch"
) -> str | None:
    """One of some values, or none; kept in the address, where a value that is not here is said."""
    options = values.drop_nulls().unique(maintain_order=True).to_list()
    address.choice(key, options, missing=f"this store has no units with this {key}")
    chosen = st.selectbox(label, options, index=None, key=key, bind="query-params", placeholder="any", width=width)
    if chosen is not None:
        address.taken(key)
    return chosen


def _moment(label: str, address: Address, *, key: str) -> int | None:
    text = st.text_input(label, key=key, bind="query-params", placeholder="2026-11-30 05:36:10").strip()
    if not text:
        address.taken(key)
        return None
    found = moment_ns(text)
    if found is None:
        address.refuse(key, text, "that is no time")
    else:
        address.taken(key)
    return found


def condition_input(label: str, *, key: str, example: str) -> str | None:
    """A SQL condition over the view `units`, kept in the address; None for none."""
    text = st.text_input(label, key=key, bind="query-params", placeholder=f"for example {example}", width="stretch")
    return text.strip() or None
