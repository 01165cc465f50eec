"""A trace as a waterfall, and the ranks of a training step side by side."""

from __future__ import annotations

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.pick import TRACE_PAGE, StepPick
from investigation.span_details import span_details
from investigation.store import StoreFile, operations, rows
from investigation.waterfall import step_rows, trace_rows
from tracekit import charts
from tracekit.foreign import markdown, named
from tracekit.wording import count_text, duration_text, exact_text, moment_text

ROW_LIMIT = 2000
"""Rows of one chart: more do not read and slow the browser; they go to further pages."""


def trace_section(file: StoreFile, trace_id: str, *, stage: str | None = None) -> None:
    """The waterfall of a trace, page by page, and the span that is chosen in it."""
    found = operations(file, trace_id)
    if found.is_empty():
        st.warning(f"There is no trace {trace_id} in this store.", icon=":material/search_off:")
        return
    _trace_facts(file, trace_id)
    bars, segments = trace_rows(found, rows(file, "explore/trace_spans", trace_id=trace_id))
    visible, proof = _visible_rows(bars.height, key=f"page_{trace_id}"), _longest_row(segments, stage)
    event = st.altair_chart(
        charts.timeline(bars.filter(visible), segments.filter(visible), highlighted=proof),
        key=f"waterfall_{trace_id}",
        on_select="rerun",
        alt=f"Waterfall of trace {trace_id}",
    )
    picked = event.selection.get("row")
    chosen = picked[0]["row"] if picked else proof
    if chosen is None:
        st.caption("Click a row to see what its span carries.")
    else:
        span_details(file, trace_id, bars.row(by_predicate=pl.col("row") == chosen, named=True))


def step_section(file: StoreFile, pick: StepPick) -> None:
    """All ranks of a training step on one time axis, where their time went, and whom they waited for."""
    where = pick._asdict()
    ranks = rows(file, "explore/step_ranks", **where)
    if ranks.is_empty():
        st.warning(
            f"Job {markdown(named(pick.job_id))} has no step {pick.step} in attempt {pick.attempt}.",
            icon=":material/search_off:",
        )
        return
    first_ns, last_ns = ranks["start_ns"].min(), ranks["end_ns"].max()
    st.caption(
        f"Step {pick.step}, attempt {pick.attempt} of {markdown(named(pick.job_id))}: "
        f"{count_text(ranks.height)} ranks, "
        f"{duration_text(last_ns - first_ns)} ({exact_text(last_ns - first_ns)}) from {moment_text(first_ns)}"
    )
    found = pl.concat([operations(file, trace_id) for trace_id in ranks["trace_id"].unique().sort()])
    bars, segments = step_rows(ranks, found)
    st.altair_chart(charts.timeline(bars, segments), alt=f"All ranks of step {pick.step} on one time axis")
    st.caption("Solid: what the rank was doing. Pale and dashed: waiting for another rank.")
    _neighbours(pick)
    _step_tables(file, where)


def _trace_facts(file: StoreFile, trace_id: str) -> None:
    units = rows(file, "explore/trace_units", trace_id=trace_id, limit=1)
    if units.is_empty():
        st.caption("No request or step was made of this trace.")
        return
    unit = units.row(0, named=True)
    if unit["unit_count"] > 1:
        st.caption(f"{count_text(unit['unit_count'])} steps were made of this trace.")
        return
    parts = [f"{named(unit['name'])}, {unit['outcome']}", f"{duration_text(unit['e2e_ns'])} end to end"]
    parts += [f"{duration_text(unit['ttft_ns'])} to the first token"] if unit["ttft_ns"] is not None else []
    parts += [f"{unit[name]:,} {name.replace('_', ' ')}" for name in ("input_tokens", "output_tokens") if unit[name]]
    parts += [f"seen from the {unit['vantage']}"]
    parts += [f"odd: {unit['flags']}"] if unit["flags"] else []
    st.caption(markdown(" · ".join([moment_text(unit["start_ns"]), *parts])))


def _visible_rows(row_count: int, *, key: str) -> pl.Expr:
    """The rows of the page that is chosen; says what the other pages hold."""
    if row_count <= ROW_LIMIT:
        return pl.lit(value=True)
    pages = -(-row_count // ROW_LIMIT)
    page = st.number_input(f"Page (of {pages})", min_value=1, max_value=pages, value=1, key=key, width=160)
    first = (int(page) - 1) * ROW_LIMIT
    last = min(first + ROW_LIMIT, row_count) - 1
    st.caption(f"Rows {first + 1:,} to {last + 1:,} of {row_count:,}; the others are on the other pages.")
    return pl.col("row").is_between(first, last)


def _longest_row(segments: pl.DataFrame, stage: str | None) -> int | None:
    """The row that owns the most time of a stage: the proof; None without one."""
    if stage is None:
        return None
    owned = segments.filter(pl.col("stage") == stage).group_by("row").agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    return None if owned.is_empty() else owned.sort("end_ns", "row", descending=[True, False])["row"][0]


def _neighbours(pick: StepPick) -> None:
    address = {"job": pick.job_id, "attempt": str(pick.attempt)}
    with st.container(horizontal=True):
        if pick.step:
            before = address | {"step": str(pick.step - 1)}
            st.page_link(TRACE_PAGE, label="Step before", icon=":material/chevron_left:", query_params=before)
        after = address | {"step": str(pick.step + 1)}
        st.page_link(TRACE_PAGE, label="Step after", icon=":material/chevron_right:", query_params=after)


def _step_tables(file: StoreFile, where: dict[str, object]) -> None:
    left, right = st.columns(2, gap="large")
    stages = rows(file, "explore/step_stages", **where)
    waits = rows(file, "explore/step_waits_of", **where)
    text = {"return_dtype": pl.String}
    with left:
        st.subheader("Where each rank's time went", anchor=False)
        shown = stages.with_columns(pl.col("self_ns").map_elements(duration_text, **text))
        dataframe(shown.pivot("stage", index="rank", values="self_ns"), hide_index=True, placeholder="–")
    with right:
        st.subheader("Whom it waited for", anchor=False)
        if waits.is_empty():
            st.caption("No rank waited for another one.")
            return
        dataframe(
            waits.with_columns(pl.col("wait_ns").map_elements(duration_text, **text).alias("waited")),
            column_order=["rank", "waited", "culprit_rank", "culprit_operation", "culprit_stage"],
            column_config={
                "culprit_rank": "for rank",
                "culprit_operation": "which was in",
                "culprit_stage": "stage",
            },
            hide_index=True,
        )
