"""The ledger of training jobs: what trained, and every other leaf with its owner and cause."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.page import paragraph
from investigation.pick import STRAGGLERS_PAGE, TAIL_PAGE
from investigation.scope import said_unused, scope
from investigation.store import StoreFile, goodput_answer
from tracekit.foreign import markdown, named
from tracekit.schema import JobStage, StepStage
from tracekit.wording import duration_text, hours_text, share_text

_MOST_JOBS = 8
LEDGER_CHART = "ledger_chart"
_FAILURES_PAGE = "app_pages/failures.py"
_LABELS = {
    "ns": "accelerator time",
    "own": "own time above its reference",
    "waited": "others waited",
    "is_assumed": "assumed",
}
_OF_FAILURES = {JobStage.LOST_WORK, JobStage.DETECT, JobStage.RECOVER}


def job_ledger(file: StoreFile) -> Any:
    """The exact ledger of each job: what trained, and every other leaf with its owner and cause; the answer."""
    said_unused("service", "model", "tenant", "outcome", "since_ns", "until_ns", "condition", why="a job is paid whole")
    price = st.number_input(
        "Price of an accelerator-hour", min_value=0.0, value=None, key="price", bind="query-params", width=240,
        help="Costs are shown where a price is given, in its currency.",
    )  # fmt: skip
    answer = goodput_answer(file, job=scope().job, price=price)
    training = answer.training
    st.markdown(paragraph(training.summary))
    for row in training.jobs.head(_MOST_JOBS).iter_rows(named=True):
        _ratios(row, is_named=training.jobs.height > 1)
    if training.jobs.height > _MOST_JOBS:
        st.caption(f"The first {_MOST_JOBS} of {training.jobs.height:,} jobs; choose one in the scope.")
    st.subheader("Where the time went", anchor=False)
    st.caption(
        "Each bar is a leaf of the ledger; the leaves sum to all time that was requested. Click one for its cause."
    )
    event = st.altair_chart(
        training.chart(), key=LEDGER_CHART, on_select="rerun",
        alt="Accelerator time by leaf of the ledger; the leaves sum to all that was requested",
    )  # fmt: skip
    picked = event.selection.part
    leaf = str(picked[0]["part"]) if picked else None
    if leaf is not None:
        _leaf_section(training, leaf)
    _tables(training, leaf)
    return answer


def _leaf_section(training: Any, leaf: str) -> None:
    """What a leaf means and where its proof is."""
    leaves = training.leaves.filter(leaf=leaf)
    if leaves.is_empty():
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{markdown(leaf)}**: {hours_text(int(leaves['ns'].sum()))}")
        if leaf in _OF_FAILURES:
            st.page_link(_FAILURES_PAGE, label="See what failed first", icon=":material/arrow_forward:")
        elif leaf in set(StepStage):
            asked = {"metric": "step", "stage": leaf}
            st.page_link(TAIL_PAGE, label="See the steps with it", icon=":material/arrow_forward:", query_params=asked)
            st.page_link(STRAGGLERS_PAGE, label="See who was waited for", icon=":material/arrow_forward:")


def _ratios(row: dict[str, Any], *, is_named: bool) -> None:
    if is_named:
        st.markdown(f"**{markdown(named(row['job_id'] or 'without a name'))}**")
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


def _tables(training: Any, leaf: str | None) -> None:
    texts = {
        "lost": "What was lost, by leaf, owner and cause",
        "culprits": "Who made others wait or was slow inside steps",
        "scaling": "Scaling against the smallest world",
    }
    for name, title in texts.items():
        frame = getattr(training, name)
        if leaf is not None and name == "lost":
            frame = frame.filter(leaf=leaf)
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
            texts.append(column.rename(_LABELS.get(column.name, column.name.replace("_", " "))))
    return pl.DataFrame(texts)
