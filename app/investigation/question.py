"""The question of the tail page: which metric, which units, compared with what; kept in the address."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.scope import Filters, choice_input, condition_input, literal, said_unused, scope
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown_code
from tracekit.schema import METRICS, Metric, Outcome, UnitKind

DEFAULT_METRIC: Metric = "ttft"
AUTOMATIC = "auto"
EVERYTHING = "all"
QUANTILES = (AUTOMATIC, EVERYTHING, "0.5", "0.75", "0.9", "0.95", "0.99", "0.999")
BEFORE_IT_CHANGED = "the time before it changed"
TYPICAL_ONES = "typical ones (p40 to p60)"
A_CONDITION = "a SQL condition"
_FIXED_BASELINES = (BEFORE_IT_CHANGED, TYPICAL_ONES, A_CONDITION)
_QUANTILE_OF = {AUTOMATIC: None, EVERYTHING: 0.0} | {text: float(text) for text in QUANTILES[2:]}
_BASELINE_WORDS = {"auto": f"{BEFORE_IT_CHANGED}, or {TYPICAL_ONES}", "body": TYPICAL_ONES}
_VALUE_LIMIT = 30
_ALL_VALUES = 1_000_000
_PARAMETERS = ("metric", "quantile", "attribute", "value", "against", "baseline", "stage")


class TailQuestion(NamedTuple):
    """What `tracekit.Store.tail` is asked."""

    metric: Metric
    quantile: float | None
    where: str | None
    baseline: str
    outcome: str = Outcome.OK


def attribute_condition(attribute: str, value: str, *, is_text: bool) -> str:
    """The condition that an attribute of a unit has a value."""
    shown = f"attributes[{literal(attribute)}]"
    return f"{shown} = {literal(value)}" if is_text else f"{shown}::VARCHAR = {literal(value)}"


def ask(file: StoreFile) -> TailQuestion:
    """Draw the widgets of the question and read them; every one is part of the page's address.

    Ends the page where the address names something that is not here.
    """
    if "metric" not in st.query_params and "metric" not in st.session_state:
        # Not as the widget's default: that has no place in the address, and what is first changes as a store fills.
        st.session_state["metric"] = first_metric(file)
    address = Address("tail", _PARAMETERS)
    address.choice("metric", list(METRICS), missing=f"the metrics are {', '.join(METRICS)}")
    address.choice("quantile", QUANTILES, missing=f"the quantiles are {', '.join(QUANTILES)}")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        metric = st.segmented_control(
            "Metric", list(METRICS), default=DEFAULT_METRIC, key="metric", bind="query-params", required=True
        )
        quantile = st.select_slider(
            "Slow from quantile", QUANTILES, value=AUTOMATIC, key="quantile", bind="query-params", width=200
        )
        kind = METRICS[metric or DEFAULT_METRIC].unit_kind
        filters = scope().of(kind)
        attribute, values, value = _attribute(file, kind, address)
        baseline = _baseline(filters, attribute, values, value, address)
    address.stop_if_refused()
    if attribute and value:
        filters = replace(filters, attribute_condition=_value_condition(attribute, values, value))
    st.session_state["last_question"] = address.own()
    _say_what_does_not_fit(kind)
    return TailQuestion(
        metric or DEFAULT_METRIC, _QUANTILE_OF[quantile], filters.sql(), baseline, filters.outcome or Outcome.OK
    )


def first_metric(file: StoreFile) -> Metric:
    """A metric that units of this store have, the more telling one first."""
    outcomes = rows(file, "explore/unit_outcomes")
    kinds = set(outcomes["kind"])
    if UnitKind.REQUEST in kinds and not outcomes.filter(kind=UnitKind.REQUEST)["ttft_count"].sum():
        return "e2e"
    return "step" if kinds == {UnitKind.STEP} else DEFAULT_METRIC


def _say_what_does_not_fit(kind: str) -> None:
    for name in scope().not_of(kind):
        said_unused(name, why=f"a {kind} has no {name}, ask for another metric")


def question_text(question: TailQuestion) -> str:
    """The conditions that the choices amount to, as SQL: hidden filters are not forgotten filters."""
    baseline = _BASELINE_WORDS.get(question.baseline) or _as_code(question.baseline)
    where = _as_code(question.where) if question.where else "all"
    ended = "" if question.outcome == Outcome.OK else f" that ended {question.outcome}"
    return f"Units: {where}{ended} · compared with {baseline}"


def _as_code(condition: str) -> str:
    return markdown_code(condition.replace("\n)", ")"))


def _attribute(file: StoreFile, kind: str, address: Address) -> tuple[str | None, pl.DataFrame, str | None]:
    """An attribute of the units, its values, and the value that is chosen; None where none is."""
    names = rows(file, "explore/unit_attribute_names", kind=kind)["attribute"]
    attribute = choice_input("Attribute", names, address, key="attribute", width=180)
    values = rows(file, "explore/unit_attribute_values", kind=kind, attribute=attribute or "", limit=_VALUE_LIMIT)
    if attribute is None:
        address.unused("value", why="no attribute is chosen that it could be the value of")
        return None, values, None
    values = _with_asked_values(file, kind, attribute, values, address)
    value = choice_input("is", values["value"], address, key="value", width=180)
    value_count = values["value_count"][0] if values.height else 0
    if value_count > values.height:
        st.caption(f"The {values.height} most frequent of {value_count:,} values; write a condition for others.")
    return attribute, values, value


def _with_asked_values(
    file: StoreFile, kind: str, attribute: str, values: pl.DataFrame, address: Address
) -> pl.DataFrame:
    """The values, and those that the address names where they are there but less frequent."""
    asked = {address.asked.get("value"), address.asked.get("against", "").removeprefix(f"{attribute} = ")}
    if asked <= {None, "", *_FIXED_BASELINES, *values["value"]}:
        return values
    every = rows(file, "explore/unit_attribute_values", kind=kind, attribute=attribute, limit=_ALL_VALUES)
    missing = asked - set(values["value"])
    return pl.concat([values, every.filter(pl.col("value").is_in([each for each in missing if each]))])


def _baseline(
    filters: Filters, attribute: str | None, values: pl.DataFrame, value: str | None, address: Address
) -> str:
    """What the slow ones are compared with: `auto`, `body`, or a condition that selects other units."""
    others = {f"{attribute} = {other}": other for other in values["value"] if other != value} if value else {}
    options = [BEFORE_IT_CHANGED, TYPICAL_ONES, *others, A_CONDITION]
    address.choice("against", options, missing="this store has no such units to compare with")
    chosen = st.selectbox("Compare with", options, key="against", bind="query-params", width=260)
    if chosen == A_CONDITION:
        condition = condition_input("Baseline condition", key="baseline", example="model = 'llama-3-8b'")
        return condition or "body"
    if "baseline" in address.asked:
        address.unused("baseline", why=f"it counts only where `against` is `{A_CONDITION}`")
    if attribute and chosen in others:
        condition = _value_condition(attribute, values, others[chosen])
        # Another scenario ran at another time: the time range belongs to the selection alone.
        other = replace(filters, attribute_condition=condition, since_ns=None, until_ns=None)
        return other.sql() or "body"
    return "auto" if chosen == BEFORE_IT_CHANGED else "body"


def _value_condition(attribute: str, values: pl.DataFrame, value: str) -> str:
    is_text = values.filter(pl.col("value") == value)["is_text"][0]
    return attribute_condition(attribute, value, is_text=is_text)
