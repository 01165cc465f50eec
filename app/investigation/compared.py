"""Two groups of requests side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.headlines import plain_tail, that_may_have_changed
from investigation.page import answer_state
from investigation.scope import address_moment
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown, named, plain_frame
from tracekit.wording import METRIC_NAMES, duration_text, interval_text, moment_text, share_text

_MOST_OFFERED = 8
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
        slo = st.text_input("SLO", key="slo", bind="query-params", placeholder="none, or ttft=2s", width=180).strip()
    return (before, after, slo or None) if before and after else None


def suggestions(file: StoreFile) -> None:
    """Comparisons that this store offers, each a click: before and after a change, halves, versions, hosts."""
    st.markdown("Say what to compare: two times, versions, hosts or conditions. This store offers:")
    offered = [*_times(file), *_told_apart(file)]
    with st.container(gap="xsmall"):
        for place, (label, before, after) in enumerate(offered[:_MOST_OFFERED]):
            st.button(
                label, key=f"offered_{place}", icon=":material/compare_arrows:", type="tertiary", on_click=_ask,
                args=(before, after),
            )  # fmt: skip


def _ask(before: str, after: str) -> None:
    st.session_state["before"], st.session_state["after"] = before, after


def _times(file: StoreFile) -> list[tuple[str, str, str]]:
    """The time before what changed against the time since, and the first half against the second."""
    contents = rows(file, "explore/store_contents").row(0, named=True)
    first, last = contents["first_ns"], contents["last_ns"] + 1
    middle = (first + last) // 2
    found = [("The first half of the time against the second", _window(first, middle), _window(middle, last))]
    if "request" not in rows(file, "explore/unit_outcomes")["kind"].to_list():
        return found
    for metric in that_may_have_changed(file, ("ttft", "e2e")):
        answer = plain_tail(file, metric)
        begin, end = answer.change_start_ns, answer.change_end_ns
        if begin is not None and begin > first:
            told = f"Before {moment_text(begin)}, when {METRIC_NAMES[metric]} changes, against until {moment_text(end)}"
            return [(told, _window(first, begin), _window(begin, end)), *found]
    return found


def _window(first_ns: int, last_ns: int) -> str:
    return f"{address_moment(first_ns)}/{address_moment(last_ns)}"


def _told_apart(file: StoreFile) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for (service, kind), sides in rows(file, "explore/told_apart").group_by(
        "service_name", "kind", maintain_order=True
    ):
        names = sides["side"].to_list()
        told = f"{kind}s of {markdown(named(service or 'a service'))}"
        found += [(f"{markdown(one)} against {markdown(other)} ({told})", one, other) for one, other in pairwise(names)]
    return found


def _side(label: str, *, key: str, example: str) -> str:
    text = st.text_input(
        label, key=key, bind="query-params", placeholder=f"for example {example}", help=_HELP, width=360
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
