"""What the slow ones have in common, and the way from there to those alone."""

from __future__ import annotations

from typing import Any

import streamlit as st

from investigation.border import dataframe
from investigation.pick import COMPARE_PAGE, STRAGGLERS_PAGE
from investigation.scope import and_where, literal, tenant_condition
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown

DIFFERENCES = "differing"
_GO_ON = "go_on_to_host"
_DIFFERENCE_CHANCE = {"ratio_low": "low", "ratio_high": "high", "adjusted_p": "adjusted p"}
_SHARES = {"tail_share": "share of the slow", "rest_share": "share of the rest"}
_COLUMNS = {"service_name", "name", "model", "job_id", "attempt", "rank"}
_OF_HOST = "host of "
_RANKS_HOST = "host_name"


def differences(file: StoreFile, answer: Any) -> None:
    """Which attribute values are more frequent among the slow than among the rest; choosing one asks about it alone."""
    st.subheader("What differs", anchor=False)
    if answer.differences.is_empty():
        st.caption("No attribute tells the slow ones from the rest.")
        return
    st.caption("Values that are more frequent among the slow. Choose a row to ask about those alone.")
    judged = [name for name in _DIFFERENCE_CHANCE if answer.differences[name].count()]
    shares = {name: st.column_config.NumberColumn(label, format="percent") for name, label in _SHARES.items()}
    chances = {name: st.column_config.NumberColumn(label, format="%.3g") for name, label in _DIFFERENCE_CHANCE.items()}
    times = st.column_config.NumberColumn("times as frequent", format="%.2f")
    st.session_state["differences"] = answer.differences.select("dimension", "value").rows()
    dataframe(
        answer.differences,
        column_order=["dimension", "value", *_SHARES, "ratio", *judged],
        column_config={"dimension": "attribute", "ratio": times, **shares, **chances},
        hide_index=True,
        placeholder="–",
        key=DIFFERENCES,
        on_select=take_over_difference,
        selection_mode="single-row",
        alt="Attribute values among the slow and the rest",
    )
    _go_on(file)
    if answer.attributes_set_aside:
        st.caption(markdown("Not compared (too many values, or nested): " + ", ".join(answer.attributes_set_aside)))


def take_over_difference() -> None:
    """A row that is chosen becomes a condition of the scope."""
    picked = st.session_state[DIFFERENCES].selection.rows
    if not picked:
        return
    dimension, value = st.session_state["differences"][picked[0]]
    if dimension.startswith(_OF_HOST) or dimension == _RANKS_HOST:
        st.session_state[_GO_ON] = (dimension, value)
    else:
        and_where(difference_condition(dimension, value))


def _go_on(file: StoreFile) -> None:
    """Units do not name their hosts: those of a service are compared, those of ranks are on the page of stragglers."""
    dimension, value = st.session_state.pop(_GO_ON, (None, None))
    if dimension == _RANKS_HOST:
        st.switch_page(STRAGGLERS_PAGE)
    if dimension is None or value is None:
        return
    service = dimension.removeprefix(_OF_HOST)
    sides = rows(file, "explore/told_apart").filter(kind="host", service_name=service)["side"].to_list()
    others = [side for side in sides if side != f"host:{value}"]
    if others:
        st.switch_page(COMPARE_PAGE, query_params={"before": others[0], "after": f"host:{value}"})


def difference_condition(dimension: str, value: str) -> str:
    """The SQL condition over `units` that a value of a dimension is.

    >>> difference_condition("scenario", "it's")
    "attributes['scenario']::VARCHAR = 'it''s'"
    """
    if dimension in _COLUMNS:
        return f"{dimension}::VARCHAR = {literal(value)}"
    return tenant_condition(dimension, value)
