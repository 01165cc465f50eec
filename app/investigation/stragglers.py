"""Whom the ranks of a training job waited for, and the steps that prove it."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.page import paragraph
from investigation.pick import TRACE_PAGE, late_step, step_address
from investigation.store import StoreFile
from tracekit import charts
from tracekit.wording import count_text, duration_text, link_sentence, share_text, steps_text

_WAITED = 12
_TIMES = {
    "own_ns": "own time above its reference",
    "waited_ns": "others waited",
    "lost_ns": "lost",
    "compute_ns": "computes a step",
    "typical_ns": "typical stage",
    "transfer_ns": "takes",
    "usual_ns": "usually",
    "algorithm_gb_per_s": "algorithm GB/s",
    "bus_gb_per_s": "bus GB/s",
}


def stragglers(file: StoreFile, answer: Any) -> None:
    """The conclusion, who was waited for as bars and as a table that opens a step, and what else held ranks up."""
    if answer.verdict == "no_steps":
        st.info("This store has no training steps, so nobody was waited for.")
        return
    st.markdown(paragraph(answer.summary))
    _figures(answer)
    if not answer.culprits.is_empty():
        _culprits(file, answer.culprits)
    _links(answer.links)
    for name, title in _TABLES.items():
        frame = getattr(answer, name)
        if not frame.is_empty():
            st.subheader(title, anchor=False)
            dataframe(readable(frame), hide_index=True, placeholder="–", alt=title)


_TABLES = {
    "spread": "Now one rank and now another",
    "scheduled": "Work that only few ranks do, on a schedule",
    "pipeline": "Pipeline stages",
    "waited_for": "How long the others waited for each rank",
    "collectives": "Collectives",
}


def _figures(answer: Any) -> None:
    shown = {
        "Accelerator time looked at": duration_text(answer.wall_ns),
        "Waiting for others": duration_text(answer.waited_ns),
        "of it for nobody named": duration_text(answer.unnamed_wait_ns),
        "Slower than the median step": share_text(None if answer.slowdown is None else answer.slowdown - 1),
        "Steps": count_text(int(answer.jobs["step_count"].sum())),
    }
    with st.container(horizontal=True):
        for label, value in shown.items():
            st.metric(label, value, border=True)


def _culprits(file: StoreFile, culprits: pl.DataFrame) -> None:
    st.subheader("Who was waited for", anchor=False)
    st.caption("Choose a row to open a step in which it was late, with all its ranks.")
    st.altair_chart(charts.lost_by_culprit(culprits.head(_WAITED)), alt="Accelerator time lost by culprit")
    event = dataframe(
        culprit_table(culprits),
        hide_index=True,
        key="culprits",
        on_select="rerun",
        selection_mode="single-row",
        placeholder="–",
        alt="Culprits with the steps in which they were late and what that cost",
    )
    if event.selection.rows:
        row = culprits.row(event.selection.rows[0], named=True)
        st.switch_page(TRACE_PAGE, query_params=step_address(late_step(file, row)))


def culprit_table(culprits: pl.DataFrame) -> pl.DataFrame:
    """Who, what, when and what it cost; the job and its attempt only where there are several."""
    own = culprits["rank"].cast(pl.String)
    is_a_host = (culprits["place"] != own).fill_null(value=True)
    steps = pl.Series("steps", [steps_text(row) for row in culprits.iter_rows(named=True)], dtype=pl.String)
    shown = [
        "rank",
        "pipeline_stage",
        "place",
        "operation",
        "stage",
        "steps",
        "lost_ns",
        "share",
        "own_ns",
        "waited_ns",
    ]
    several = [name for name in ("job_id", "attempt") if culprits[name].n_unique() > 1]
    hosts = pl.when(is_a_host).then("place").alias("place")
    return readable(culprits.with_columns(steps, hosts).select(*several, *shown))


def _links(links: pl.DataFrame) -> None:
    if links.is_empty():
        return
    st.subheader("Links that transfer slowly", anchor=False)
    st.markdown(paragraph("\n".join(link_sentence(row) for row in links.iter_rows(named=True))))
    dataframe(readable(links.drop("candidates")), hide_index=True, placeholder="–", alt="Slow links by group of ranks")


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """Times and shares as people read them, lists as texts, without columns that say nothing."""
    return pl.DataFrame([_column(frame[name]) for name in frame.columns if frame[name].null_count() < frame.height])


def _column(column: pl.Series) -> pl.Series:
    name = _TIMES.get(column.name, column.name.removesuffix("_ns").replace("_", " "))
    if column.name.endswith("_ns"):
        return pl.Series(name, [None if ns is None else duration_text(int(ns)) for ns in column], dtype=pl.String)
    if column.name == "share":
        return pl.Series(name, [share_text(share) for share in column], dtype=pl.String)
    if column.dtype == pl.List:
        return pl.Series(name, [", ".join(map(str, values)) for values in column], dtype=pl.String)
    return column.rename(name)
