"""Requests against an SLO."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.scope import scope
from investigation.store import StoreFile, request_goodput_answer
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.schema import UnitKind

DEFAULT_SLO = "ttft=2s,tpot=100ms,e2e=30s"


def request_goodput(file: StoreFile) -> None:
    """How many requests were good, why the others were not, and which stage the late ones lost it in."""
    slo = st.text_input(
        "SLO", value=DEFAULT_SLO, key="slo", bind="query-params", width=420,
        help="Limits such as ttft=2s,tpot=50ms,e2e=30s, or the name of an MLPerf preset such as llama2-70b.",
    )  # fmt: skip
    where = scope().of(UnitKind.REQUEST).sql_with_outcome()
    answer = request_goodput_answer(file, slo=slo.strip() or DEFAULT_SLO, where=where)
    st.markdown(markdown(answer.summary))
    left, right = st.columns(2, gap="large")
    with left:
        _buckets(answer)
    with right:
        _lost_by_stage(answer)
    _by_dimension(answer)


def _buckets(answer: Any) -> None:
    st.markdown("**How each request counts**")
    st.altair_chart(answer.chart(), alt="Requests by how they count: good, or why not")
    if answer.buckets["invalid"]:
        st.caption("Shares are of all that was asked; invalid ones, no fault of the service, are not in the sentence.")


def _lost_by_stage(answer: Any) -> None:
    st.markdown("**Which stage the late ones lost it in**")
    lost = answer.lost_by_stage
    if lost.is_empty():
        st.caption("No request was late.")
        return
    labels = [f"{misses:,}  ·  {owner}" for misses, owner in lost.select("misses", "owner").iter_rows()]
    parts = lost.select(part="stage", amount=pl.col("misses").cast(pl.Float64)).with_columns(pl.Series("label", labels))
    st.altair_chart(
        charts.parts_of_whole(parts, title="late requests"), alt="Late requests by the stage that made them so"
    )
    with st.expander("All figures, and what would have been without each stage's excess", icon=":material/table_rows:"):
        dataframe(lost, hide_index=True, alt="Late requests by stage and limit, with the counterfactual")


def _by_dimension(answer: Any) -> None:
    if not answer.by.is_empty():
        st.markdown("**By model, tenant, host, version and priority**")
        dataframe(answer.by, hide_index=True, placeholder="–", alt="Goodput by attribute of the requests")
    if not answer.over_time.is_empty():
        with st.expander("Over time, with the burn of the error budget", icon=":material/schedule:"):
            dataframe(answer.over_time, hide_index=True, placeholder="–", alt="Goodput in slices of time")
