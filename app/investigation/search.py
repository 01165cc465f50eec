"""The search for requests: by text, outcome and duration; choosing one opens its trace."""

from __future__ import annotations

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.pick import ORDERS, TRACE_PAGE
from investigation.store import StoreFile, rows
from tracekit.schema import OUTCOMES
from tracekit.wording import counted, duration_text, moment_text

_LIMIT = 200


def request_search(file: StoreFile) -> None:
    """What is searched for, part of the address, and the requests that it finds."""
    st.subheader("Requests", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        text = st.text_input(
            "Search", key="text", bind="query-params", width=300, placeholder="name, service, model, id, attribute"
        )
        outcome = st.selectbox(
            "Ended", OUTCOMES, index=None, key="outcome", bind="query-params", placeholder="any", width=160
        )
        least_ms = st.number_input(
            "At least (ms)", min_value=0.0, value=0.0, key="least_ms", bind="query-params", width=160
        )
        order = st.segmented_control(
            "First", ORDERS, default="slowest", key="order", bind="query-params", required=True
        )
    found = rows(
        file,
        "explore/found_units",
        text=text.strip() or None,
        outcome=outcome,
        least_ns=round(least_ms * 1e6),
        latest_first=order == "latest",
        limit=_LIMIT,
    )
    _found_table(found)


def _found_table(found: pl.DataFrame) -> None:
    if found.is_empty():
        st.caption("No request is found.")
        return
    total = found["found_count"][0]
    more = f"; the first {found.height} are shown" if total > found.height else ""
    st.caption(f"{counted(total, 'request')}{more}. Choose one to open its trace.")
    event = dataframe(
        _readable(found), hide_index=True, key="found", on_select="rerun", selection_mode="single-row",
        placeholder="–", alt="Requests that the search finds",
    )  # fmt: skip
    if event.selection.rows:
        st.switch_page(TRACE_PAGE, query_params={"trace": found["trace_id"][event.selection.rows[0]]})


def _readable(found: pl.DataFrame) -> pl.DataFrame:
    times = {"e2e_ns": "duration", "ttft_ns": "first token after"}
    texts = [pl.Series("started (UTC)", [moment_text(start_ns) for start_ns in found["start_ns"]])]
    texts += [
        pl.Series(label, [None if ns is None else duration_text(ns) for ns in found[name]], dtype=pl.String)
        for name, label in times.items()
    ]
    kept = [found[name].rename(name.removesuffix("_name")) for name in ("service_name", "name", "model", "outcome")]
    return pl.DataFrame(
        [texts[0], *kept, *texts[1:], found["output_tokens"].rename("tokens"), found["trace_id"].rename("trace")]
    )
