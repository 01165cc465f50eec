"""Two groups of requests side by side."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.page import answer_state
from investigation.store import StoreFile, rows
from tracekit.foreign import plain_frame
from tracekit.wording import duration_text, interval_text, moment_text, share_text

_HELP = (
    "A window FROM/UNTIL of ISO times in UTC, version:V or host:H of what served the requests, "
    "or a SQL condition over the view units."
)


def sides(file: StoreFile) -> tuple[str, str, str | None] | None:
    """What to compare, as the address has it; None until both sides are given."""
    Address("compare", ("before", "after", "slo")).stop_if_refused()
    contents = rows(file, "explore/store_contents").row(0, named=True)
    first, last = contents["first_ns"], contents["last_ns"]
    st.caption(f"Times in this store: {moment_text(first)} to {moment_text(last)}.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        before = _side("A (before)", key="before", example="version:1.4")
        after = _side("B (after)", key="after", example="version:1.5")
        slo = st.text_input("SLO", key="slo", bind="query-params", placeholder="none, or ttft=2s", width=220).strip()
    return (before, after, slo or None) if before and after else None


def _side(label: str, *, key: str, example: str) -> str:
    text = st.text_input(
        label, key=key, bind="query-params", placeholder=f"for example {example}", help=_HELP, width=380
    )
    return text.strip()


def changes(answer: Any) -> None:
    """The conclusion, then what changed of each metric, each stage, and how requests ended."""
    answer_state(answer)
    metrics, stages, outcomes = answer.metrics, answer.stages, answer.outcomes
    if not metrics.is_empty():
        st.markdown("**Metrics at the same mix**")
        dataframe(_changed(metrics, "metric"), hide_index=True, placeholder="–", alt="Change of each metric")
    if not stages.is_empty():
        st.markdown("**Stages**")
        moved = stages.filter(pl.col("excess_ns") != 0).sort(pl.col("excess_ns").abs(), descending=True)
        dataframe(_changed(moved, "metric", "stage"), hide_index=True, placeholder="–", alt="Change of each stage")
    if not outcomes.is_empty():
        st.markdown("**How requests ended**")
        dataframe(_ended(outcomes), hide_index=True, placeholder="–", alt="Change of how requests ended")


def _changed(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    listed = [
        {
            **{name: row[name] for name in names},
            "A": duration_text(row["before_ns"]),
            "B": duration_text(row["after_ns"]),
            "change": duration_text(row["excess_ns"], signed=True),
            "95 % interval": interval_text(row["low_ns"], row["high_ns"]),
            "beyond chance": _sure(row["significant"]),
        }
        for row in frame.iter_rows(named=True)
    ]
    return plain_frame(pl.DataFrame(listed))


def _ended(outcomes: pl.DataFrame) -> pl.DataFrame:
    listed = [
        {
            "outcome": row["outcome"],
            "A": share_text(row["before"]),
            "B": share_text(row["after"]),
            "beyond chance": _sure(row["significant"]),
        }
        for row in outcomes.iter_rows(named=True)
    ]
    return pl.DataFrame(listed)


def _sure(significant: bool | None) -> str:
    return {True: "yes", False: "no", None: "not known"}[significant]
