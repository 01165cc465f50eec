"""Two traces side by side: where one spent more time than the other, stage by stage."""

from __future__ import annotations

import re

import polars as pl
import streamlit as st

import tracekit as tk
from investigation.border import dataframe
from investigation.pick import TRACE_PAGE
from investigation.store import StoreFile, rows
from investigation.timelines import drawn_trace, timeline_alone
from tracekit.wording import counted, duration_text, exact_text

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


def compared_with(file: StoreFile, trace_id: str) -> str | None:
    """The trace to lay beside, part of the address; None for none. Raises `UsageError` for what is no trace id."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        other = st.text_input("Compare with trace", key="with", bind="query-params", width=340).strip().lower()
        typical = rows(file, "explore/typical_unit", trace_id=trace_id)
        if not other and not typical.is_empty():
            found = typical.row(0, named=True)
            st.button(
                f"A typical one beside it ({duration_text(found['e2e_ns'])})",
                icon=":material/compare_arrows:",
                key="typical",
                on_click=_lay_beside,
                args=(found["trace_id"],),
                help=f"The one in the middle of {counted(found['like_count'], 'request')} of this service and name.",
            )
    if not other:
        return None
    if not _TRACE_ID.fullmatch(other):
        raise tk.UsageError(f"{other!r} is no trace id: give its 32 hexadecimal digits")
    return other


def _lay_beside(trace_id: str) -> None:
    st.session_state["with"] = trace_id


def two_traces(file: StoreFile, one: str, other: str) -> None:
    """Both timelines, and the difference by stage, which sums to the difference of the whole."""
    drawn = {trace_id: drawn_trace(file, trace_id, None, "") for trace_id in (one, other)}
    missing = [trace_id for trace_id, found in drawn.items() if found is None]
    if missing:
        st.warning(f"There is no trace {missing[0]} in this store.", icon=":material/search_off:")
        return
    first, second = (by_stage(found.segments) for found in drawn.values()) if len(drawn) == 2 else (None, None)
    if first is None or second is None:
        st.info("These are the same trace.")
        return
    _difference_table(stage_differences(first, second))
    for column, (trace_id, found) in zip(st.columns(2, gap="medium"), drawn.items(), strict=True):
        with column:
            st.page_link(
                TRACE_PAGE, label=f"Trace {trace_id}", icon=":material/open_in_full:", query_params={"trace": trace_id}
            )
            timeline_alone(file, trace_id, found, key=f"beside_{trace_id}")


def by_stage(segments: pl.DataFrame) -> pl.DataFrame:
    """Time that each stage owns: `stage`, `self_ns`."""
    return segments.group_by("stage").agg(self_ns=(pl.col("end_ns") - pl.col("start_ns")).sum())


def stage_differences(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Time of both by stage, the largest difference first: `stage`, `one_ns`, `other_ns`, `more_ns`."""
    both = one.rename({"self_ns": "one_ns"}).join(
        other.rename({"self_ns": "other_ns"}), on="stage", how="full", coalesce=True
    )
    known = both.with_columns(pl.col("one_ns", "other_ns").fill_null(0))
    more = known.with_columns(more_ns=pl.col("one_ns") - pl.col("other_ns"))
    return more.sort(pl.col("more_ns").abs(), "stage", descending=[True, False])


def _difference_table(differences: pl.DataFrame) -> None:
    total = differences.select(pl.col("one_ns", "other_ns", "more_ns").sum()).row(0, named=True)
    more = total["more_ns"]
    st.markdown(
        f"{duration_text(total['one_ns'])} against {duration_text(total['other_ns'])}: "
        f"**{duration_text(abs(more))} {'more' if more >= 0 else 'less'}** ({exact_text(abs(more))}); "
        "the stages sum to it exactly."
    )
    labels = {"one_ns": "this trace (ns)", "other_ns": "the other (ns)", "more_ns": "more (ns)"}
    dataframe(
        differences,
        column_config={name: st.column_config.NumberColumn(text, format="localized") for name, text in labels.items()},
        hide_index=True,
        alt="Time of both traces by stage",
    )
