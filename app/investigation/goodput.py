"""The ledger of training jobs, and requests against an SLO."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.question import condition_input
from investigation.store import StoreFile, goodput_answer, request_goodput_answer
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.wording import duration_text, hours_text, share_text

DEFAULT_SLO = "ttft=2s,tpot=100ms,e2e=30s"


def request_goodput(file: StoreFile) -> None:
    """How many requests were good, why the others were not, and which stage the late ones lost it in."""
    st.subheader("Requests against an SLO", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        slo = st.text_input(
            "SLO", value=DEFAULT_SLO, key="slo", bind="query-params", width=360,
            help="Limits such as ttft=2s,tpot=50ms,e2e=30s, or the name of an MLPerf preset such as llama2-70b.",
        )  # fmt: skip
        where = condition_input("Requests where (SQL)", key="where", example="model = 'llama-3-8b'")
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


def job_ledger(file: StoreFile) -> None:
    """The exact ledger of each job: what trained, and every other leaf with its owner and cause."""
    st.subheader("Paid accelerator time of training jobs", anchor=False)
    jobs = goodput_answer(file).training.jobs["job_id"].to_list()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        job = st.selectbox("Job", jobs, key="job", bind="query-params", width=240)
        price = st.number_input(
            "Price of an accelerator-hour", min_value=0.0, value=None, key="price", bind="query-params", width=240,
            help="Costs are shown where a price is given, in its currency.",
        )  # fmt: skip
    answer = goodput_answer(file, job=job, price=price)
    st.markdown(markdown(answer.training.summary))
    for row in answer.training.jobs.iter_rows(named=True):
        _ratios(row)
    st.altair_chart(
        answer.training.chart(),
        alt="Accelerator time by leaf of the ledger; the leaves sum to all that was requested",
    )
    _tables(answer.training)


def _ratios(row: dict[str, Any]) -> None:
    shown = {
        "Goodput": (
            "goodput",
            "Share of all requested accelerator time that trained at its reference: SG · RG · PG.",
        ),
        "SG": ("sg", "Scheduling: allocated of requested."),
        "RG": ("rg", "Runtime: kept steps of allocated."),
        "PG": ("pg", "Program: ideal compute of kept steps."),
        "ETTR": (
            "ettr",
            "Effective training time ratio: kept steps of the time with all accelerators granted.",
        ),
    }
    with st.container(horizontal=True):
        st.metric("Requested", hours_text(int(row["total_ns"])), border=True)
        for label, (name, told) in shown.items():
            if row[name] is not None:
                st.metric(label, share_text(row[name]), help=told, border=True)


def _tables(training: Any) -> None:
    texts = {
        "lost": "What was lost, by leaf, owner and cause",
        "culprits": "Who made others wait or was slow inside steps",
        "scaling": "Scaling against the smallest world",
    }
    for name, title in texts.items():
        frame = getattr(training, name)
        if not frame.is_empty():
            st.markdown(f"**{title}**")
            dataframe(_readable(frame), hide_index=True, placeholder="–", alt=title)
    for text in training.notes["text"]:
        st.caption(markdown(text))


def _readable(frame: pl.DataFrame) -> pl.DataFrame:
    """Times and shares as people read them, without columns that say nothing."""
    texts: list[pl.Series] = []
    for name in frame.columns:
        column = frame[name]
        if name.endswith("ns"):
            column = pl.Series(
                name.removesuffix("_ns"), [None if ns is None else duration_text(int(ns)) for ns in column]
            )
        elif name in ("share", "efficiency"):
            column = pl.Series(name, [share_text(share) for share in column])
        if name != "job_id" and column.null_count() < len(column):
            texts.append(column.rename("accelerator time") if name == "ns" else column)
    return pl.DataFrame(texts)
