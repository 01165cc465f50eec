"""A trace as a timeline, and the ranks of a training step side by side; what is chosen stands beside."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.marks import (
    counter_marks,
    event_marks,
    late_rank,
    late_row,
    link_marks,
    longest_row,
    no_points,
)
from investigation.pick import TRACE_PAGE, StepPick
from investigation.scope import literal
from investigation.sql_link import statement_link
from investigation.store import StoreFile, opened, operations, rows
from investigation.timeline_payload import packed
from investigation.timeline_view import Drawn, with_what_is_chosen
from investigation.waterfall import step_rows, trace_rows
from tracekit.foreign import markdown, named
from tracekit.wording import count_text, counted, duration_text, exact_text, moment_text

_COUNTERS = 3


def trace_section(file: StoreFile, trace_id: str, *, stage: str | None = None) -> None:
    """The timeline of a trace, the span that is chosen in it, and a range of it summed by stage."""
    drawn = drawn_trace(file, trace_id, stage, _asked_span(trace_id))
    if drawn is None:
        st.warning(f"There is no trace {trace_id} in this store.", icon=":material/search_off:")
        return
    _trace_facts(file, trace_id)
    with_what_is_chosen(file, [trace_id], drawn, key=f"trace_{trace_id}")
    with st.container(horizontal=True):
        _download(file, f"trace-{trace_id}", trace_id=trace_id)
        statement_link(f"FROM spans WHERE trace_id = {literal(trace_id)} ORDER BY start_ns, span_id")


def _asked_span(trace_id: str) -> str:
    """The span that a link chose; what is chosen in the timeline itself is told to the address and does not come back.

    Else the timeline would be drawn anew with each click, and lose its place.
    """
    asked, key = str(st.query_params.get("span") or ""), f"asked_span_of_{trace_id}"
    if key not in st.session_state or asked != st.session_state.get("told_span"):
        st.session_state[key] = asked
    return st.session_state[key]


def _download(file: StoreFile, name: str, **selection: Any) -> None:
    """A button that makes the file for Perfetto when it is pressed, of what `tracekit.Store.perfetto` is asked for."""

    def made() -> bytes:
        with opened(file) as store:
            return store.perfetto(**selection).text().encode()

    st.download_button(
        "Download for Perfetto", made, f"{name}.json", "application/json", icon=":material/download:",
        on_click="ignore", key=f"perfetto_{name}", help="Trace events: ui.perfetto.dev and chrome://tracing open them.",
    )  # fmt: skip


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
    late = late_rank(rows(file, "explore/step_waits_of", **where))
    if late is not None:
        what = markdown(named(late["culprit_operation"] or late["culprit_stage"]))
        st.markdown(
            f"**Rank {late['culprit_rank']} was late**, in {what} ({markdown(named(late['culprit_stage']))}): "
            f"the others waited {duration_text(late['wait_ns'])} for it."
        )
    series = _chosen_counters(file, ranks, key=f"counters_{pick.step}")
    drawn = _drawn_step(file, pick, tuple(series))
    trace_ids = ranks["trace_id"].unique().sort().to_list()
    with_what_is_chosen(file, trace_ids, drawn, key=f"step_{pick.job_id}_{pick.attempt}_{pick.step}")
    _neighbours(pick)
    _download(file, f"step-{pick.step}", **where)
    _step_tables(file, where)


@st.cache_resource(max_entries=8, show_spinner="Laying out the trace …")
def drawn_trace(file: StoreFile, trace_id: str, stage: str | None, span_id: str) -> Drawn | None:
    """A trace, ready to be drawn, with a span chosen or else the row with the most of a stage; None where it is not."""
    found = operations(file, trace_id)
    if found.is_empty():
        return None
    bars, segments = trace_rows(found, rows(file, "explore/trace_spans", trace_id=trace_id))
    origin_ns = found["start_ns"].min()
    chosen = bars.filter(span_id=span_id)["row"]
    picked = chosen[0] if len(chosen) else longest_row(segments, stage)
    payload = packed(
        bars,
        segments,
        title=f"trace {trace_id[:8]}…",
        events=event_marks(rows(file, "explore/trace_events", trace_id=trace_id), bars, origin_ns),
        links=link_marks(rows(file, "explore/trace_links", trace_id=trace_id), bars, [trace_id]),
        points=no_points(),
        picked=picked,
    )
    return Drawn(bars, segments, payload, picked)


@st.cache_resource(max_entries=8, show_spinner="Laying out the step …")
def _drawn_step(file: StoreFile, pick: StepPick, series: tuple[str, ...]) -> Drawn:
    ranks = rows(file, "explore/step_ranks", **pick._asdict())
    trace_ids = ranks["trace_id"].unique().sort().to_list()
    found = pl.concat([operations(file, trace_id) for trace_id in trace_ids])
    each = {
        name: pl.concat([rows(file, f"explore/{name}", trace_id=trace_id) for trace_id in trace_ids])
        for name in ("trace_spans", "trace_events", "trace_links")
    }
    bars, segments = step_rows(ranks, found, each["trace_spans"])
    origin_ns = ranks["start_ns"].min()
    late = late_rank(rows(file, "explore/step_waits_of", **pick._asdict()))
    picked = late and late_row(bars, segments, late["culprit_rank"], late["culprit_stage"])
    points = _counters(file, ranks).filter(pl.col("series").is_in(list(series)))
    payload = packed(
        bars,
        segments,
        title=f"step {pick.step}",
        events=event_marks(each["trace_events"], bars, origin_ns),
        links=link_marks(each["trace_links"], bars, trace_ids),
        points=counter_marks(points, origin_ns),
        picked=picked,
        is_collapsed=True,
    )
    return Drawn(bars, segments, payload, picked)


def _counters(file: StoreFile, ranks: pl.DataFrame) -> pl.DataFrame:
    """The counters of the hosts that work in a step."""
    hosts = ranks["host_name"].drop_nulls().unique().sort().to_list()
    first_ns, last_ns = ranks["start_ns"].min(), ranks["end_ns"].max()
    return rows(file, "explore/counters_beside", first_ns=first_ns, last_ns=last_ns, hosts=hosts, services=[])


def _chosen_counters(file: StoreFile, ranks: pl.DataFrame, *, key: str) -> list[str]:
    """Which counters stand above the lanes: at first some of those that move."""
    points = _counters(file, ranks)
    if points.is_empty():
        return []
    moves = points.group_by("series").agg(moves=pl.col("value").n_unique())
    moving = moves.sort("moves", "series", descending=[True, False])
    names = moving["series"]
    with st.popover(f"Counters ({counted(len(names), 'series', 'series')})", icon=":material/monitoring:"):
        first = moving.filter(pl.col("moves") > 1)["series"].head(_COUNTERS)
        return st.multiselect("Above the lanes", names, default=first, key=key, width=600)


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
