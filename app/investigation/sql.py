"""A statement in the address, the views that it can read, and its rows."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import streamlit as st

import tracekit as tk
from investigation.address import Address
from investigation.border import dataframe
from investigation.completion import completion
from investigation.sql_link import filled_in, without_header
from investigation.store import StoreFile, rows
from tracekit.foreign import plain
from tracekit.wording import counted

FIRST = "FROM units SELECT service_name, outcome, count(*) AS requests, avg(e2e_ns) AS mean_ns GROUP BY ALL"
FIELD = "Statement"
MOST_ROWS = 10_000
"""Rows that a page shows; a file has all of them."""


EXAMPLES: dict[str, dict[str, Any]] = {
    "explore/services": {},
    "explore/unit_outcomes": {},
    "explore/slowest_units": {"kind": "request", "limit": 20},
    "explore/unit_attribute_names": {"kind": "request"},
    "explore/latency_cells": {
        "kind": "request", "service": None, "model": None, "tenant_key": None, "tenant": None, "job": None,
        "operation": None, "outcome": None, "first_ns": None, "last_ns": None, "window_count": 20, "cells_a_decade": 3,
    },
    "metrics/catalogue": {},
    "explore/ingests": {"limit": 50},
}  # fmt: skip
"""Statements of `queries/` that make a beginning, with what their parameters are."""
_HISTORY = "sql_history"
_MOST_KEPT = 50
_SHOWN = 90


def asked(file: StoreFile) -> str:
    """The statement as it was last run; it is part of the address."""
    left, right = st.columns(2)
    with left:
        st.selectbox(
            "Examples", list(EXAMPLES), index=None, key="example", placeholder="a statement to begin with",
            format_func=example_title, on_change=_take_example,
        )  # fmt: skip
    with right:
        st.selectbox(
            "History", _history(), index=None, key="earlier", placeholder="what was run before",
            format_func=_one_line, on_change=_take_earlier,
        )  # fmt: skip
    with st.form("statement", border=False):
        statement = st.text_area(
            FIELD, value=FIRST, key="sql", bind="query-params", height=240,
            help="Views, columns and functions are offered while you write; Ctrl + Space offers them anywhere, Enter "
            "or Tab takes one, Esc none. Ctrl + Enter runs the statement.",
        )  # fmt: skip
        st.form_submit_button("Run", icon=":material/play_arrow:")
    completion(file, field=FIELD)
    return statement.strip()


def remember(statement: str) -> None:
    """Keep a statement that was run, the latest first, each once."""
    kept = [each for each in _history() if each != statement]
    st.session_state[_HISTORY] = [statement, *kept][:_MOST_KEPT]


def example_title(query: str) -> str:
    """What a statement of `queries/` answers: the first sentence of its header."""
    return tk.Store.statement(query).splitlines()[0].removeprefix("-- ").rstrip(".")


def _history() -> list[str]:
    kept: list[str] = st.session_state.get(_HISTORY, [])
    return kept


def _one_line(statement: str) -> str:
    line = plain(" ".join(statement.split()))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _take_example() -> None:
    query = st.session_state["example"]
    if query is not None:
        st.session_state["sql"] = without_header(filled_in(tk.Store.statement(query), **EXAMPLES[query]))
        st.session_state["example"] = None


def _take_earlier() -> None:
    if st.session_state["earlier"] is not None:
        st.session_state["sql"] = st.session_state["earlier"]
        st.session_state["earlier"] = None


def schema_browser(file: StoreFile, address: Address) -> None:
    """What can be read: each view with its comment, and the columns of the one that is chosen."""
    views = rows(file, "explore/views")
    names = views["view_name"].to_list()
    address.choice("view", names, missing="there is no such view")
    name = st.selectbox("View", names, index=names.index("units"), key="view", bind="query-params")
    if name is None:
        return
    st.caption(views.row(by_predicate=pl.col("view_name") == name, named=True)["comment"])
    dataframe(
        rows(file, "explore/view_columns").filter(view_name=name).drop("view_name"),
        hide_index=True,
        height=420,
        alt=f"Columns of the view {name}",
    )


def result(found: pl.DataFrame) -> None:
    """The rows as a table, as bars where they are few with a number each, and as files."""
    shown = found.head(MOST_ROWS)
    told = (
        counted(found.height, "row")
        if found.height <= MOST_ROWS
        else f"The first {MOST_ROWS:,} of {found.height:,} rows"
    )
    st.caption(f"{told}, {counted(found.width, 'column')}.")
    dataframe(shown, has_counts=False, hide_index=True, placeholder="–", alt="Rows of the statement")
    with st.container(horizontal=True):
        st.download_button("CSV", _csv(found), "rows.csv", "text/csv", icon=":material/download:", on_click="ignore")
        st.download_button("Parquet", _parquet(found), "rows.parquet", icon=":material/download:", on_click="ignore")
    _chart(shown)


def _chart(found: pl.DataFrame) -> None:
    numbers = [name for name, kind in found.schema.items() if kind.is_numeric()]
    if not numbers or found.width < 2 or found.is_empty():
        return
    with st.expander("Chart", icon=":material/bar_chart:"), st.container(horizontal=True):
        along = st.selectbox("Along", found.columns, key="along", width=220)
        height = st.selectbox("Height", numbers, index=len(numbers) - 1, key="height", width=220)
        if along != height:
            st.bar_chart(found.select(along, height), x=along, y=height, sort=False)


def _csv(found: pl.DataFrame) -> str:
    nested = [name for name, kind in found.schema.items() if kind.is_nested()]
    texts = [pl.Series(name, [str(value) for value in found[name]], dtype=pl.String) for name in nested]
    return found.with_columns(texts).write_csv()


def _parquet(found: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    found.write_parquet(written)
    return written.getvalue()
