"""Which metric is shown, and how it moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from investigation.pick import TRACE_PAGE
from investigation.scope import said_unused, scope
from investigation.split import take_over_range
from investigation.store import StoreFile, rows
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.schema import METRIC_GROUPS
from tracekit.wording import counted, moment_text, quantity_text

_WINDOWS_S = (1, 2, 5, 10, 15, 30, 60, 300, 900, 3600, 21_600, 86_400)
_MOST_WINDOWS = 120
_EXEMPLARS = 300
_LATEST_NS = 2**63 - 1
_GROUP_NAMES = {"service_name": "service", "host_name": "host", "model": "model"}


class MetricQuestion(NamedTuple):
    """What `tracekit.Store.metrics` is asked."""

    metric: str
    by: tuple[str, ...]
    every_s: float


def chosen_metric(listed: pl.DataFrame, address: Address) -> MetricQuestion | None:
    """The metric that is chosen, kept in the address; the first that stands beside a stage unless one is."""
    names = listed["metric"].unique().sort().to_list()
    address.choice("metric", names, missing="this store has no metric of this name")
    address.choices("by", {*METRIC_GROUPS, *_GROUP_NAMES.values()}, missing=f"lines are by {', '.join(METRIC_GROUPS)}")
    beside = listed.filter(pl.col("stage").is_not_null())["metric"].to_list()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        metric = st.selectbox(
            "Metric",
            names,
            index=names.index(beside[0] if beside else names[0]),
            key="metric",
            bind="query-params",
            width=300,
        )
        by = st.multiselect(
            "Lines by", METRIC_GROUPS, default=["host_name"], key="by", bind="query-params", width=320,
            format_func=lambda name: _GROUP_NAMES[name],
        )  # fmt: skip
        found = listed.filter(metric=metric)
        span_s = (found["last_ns"].max() - found["first_ns"].min()) / 1e9 if len(found) else 0
        fitting = [seconds for seconds in _WINDOWS_S if span_s / seconds <= _MOST_WINDOWS] or [_WINDOWS_S[-1]]
        every_s = st.select_slider("Window (s)", fitting, key="every", width=220) if len(fitting) > 1 else fitting[0]
    address.stop_if_refused()
    return None if metric is None else MetricQuestion(metric, tuple(by), float(every_s))


def course(file: StoreFile, answer: Any) -> None:
    """The metric over time as lines or as a heat map, and as a table; a range that is dragged becomes the scope."""
    st.markdown(markdown(answer.summary))
    values = in_time(answer.values)
    said_unused("service", "model", "tenant", "job", "outcome", "condition", why="a metric is not of single requests")
    if values.is_empty():
        st.caption("No values in the time of the scope." if len(answer.values) else "No values.")
        return
    answer = replace(answer, values=values)
    kind = values["kind"][0]
    measure = st.segmented_control(
        "Show", charts.METRIC_MEASURES[kind], default=charts.METRIC_MEASURES[kind][0], key=f"show_{kind}"
    )
    measure = measure or charts.METRIC_MEASURES[kind][0]
    st.altair_chart(
        charts.metric_course(answer, measure), key="course", on_select=partial(take_over_range, "course"),
        alt=f"{answer.metric} over time",
    )  # fmt: skip
    if kind == "histogram" and measure != "rate_per_s":
        st.caption("Quantiles are estimates from buckets; the true value lies in the band around the line.")
    if kind == "histogram":
        _heat(file, answer)
    with st.expander("All figures", icon=":material/table_rows:"):
        dataframe(answer.shown, hide_index=True, placeholder="–", alt=f"All figures of {answer.metric}")


def in_time(values: pl.DataFrame) -> pl.DataFrame:
    """The windows that begin in the time of the scope."""
    since, until = scope().since_ns, scope().until_ns
    kept = values if since is None else values.filter(pl.col("start_ns") >= since)
    return kept if until is None else kept.filter(pl.col("start_ns") < until)


def _heat(file: StoreFile, answer: Any) -> None:
    """The values themselves; a click on one that a sender kept opens its trace."""
    since, until = scope().since_ns, scope().until_ns
    cells = rows(file, "explore/metric_cells", metric=answer.metric, window_count=_MOST_WINDOWS)
    if since is not None or until is not None:
        is_in = (pl.col("first_ns") >= (since or 0)) & (pl.col("first_ns") < (until or _LATEST_NS))
        cells = cells.filter(is_in)
    if cells.is_empty():
        return
    found = rows(
        file, "explore/metric_exemplars", metric=answer.metric, first_ns=since, last_ns=until, limit=_EXEMPLARS
    )
    st.markdown("**All values**")
    told = "Red points are single values whose trace is known: click one to open it." if len(found) else ""
    st.caption(f"Darker: more values in a bucket. {told}")
    unit = f" ({answer.unit})" if answer.unit not in (None, "1") else ""
    event = st.altair_chart(
        charts.metric_heat(cells, found, title=f"{answer.metric}{unit}", unit=answer.unit), key="metric_heat",
        on_select="rerun", alt=f"Values of {answer.metric} over time, by bucket",
    )  # fmt: skip
    picked = event.selection.get("exemplar")
    if picked and 0 <= int(picked[0]["number"]) < found.height:
        _open(found.row(int(picked[0]["number"]), named=True))
    if len(found):
        _exemplar_table(found, answer.unit)


def _exemplar_table(found: pl.DataFrame, unit: str | None) -> None:
    """The same values for those who read rather than look."""
    values = pl.Series("value", [quantity_text(value, unit) for value in found["value"]], dtype=pl.String)
    times = pl.Series("measured (UTC)", [moment_text(ns) for ns in found["time_ns"]], dtype=pl.String)
    with st.expander(f"{counted(found.height, 'value')} with a trace", icon=":material/table_rows:"):
        event = dataframe(
            found.select(times, values, "service_name", "host_name", "trace_id"),
            column_config=_GROUP_NAMES | {"trace_id": "trace"}, hide_index=True, key="exemplars", on_select="rerun",
            selection_mode="single-row", placeholder="–", alt="Single values with their traces",
        )  # fmt: skip
    if event.selection.rows:
        _open(found.row(event.selection.rows[0], named=True))


def _open(exemplar: dict[str, Any]) -> None:
    if not exemplar["is_here"]:
        st.caption(f"Its trace {exemplar['trace_id']} is not in this store.")
        return
    st.switch_page(TRACE_PAGE, query_params={"trace": exemplar["trace_id"], "span": exemplar["span_id"]})


def catalogue(listed: Any) -> None:
    """Everything that was sent, with the stage that it stands beside."""
    st.subheader("What was sent", anchor=False)
    until = pl.col("last_ns").map_elements(moment_text, return_dtype=pl.String).alias("until (UTC)")
    dataframe(
        listed.catalogue.with_columns(until),
        column_order=[
            "metric", "sender_name", "unit", "kind", "stage", "service_name", "host_count", "series_count",
            "point_count", "until (UTC)",
        ],
        column_config={
            "sender_name": "sender's name", "service_name": "service", "host_count": "hosts", "series_count": "series",
            "point_count": "points",
        },
        hide_index=True,
        placeholder="–",
        alt="Metrics in this store",
    )  # fmt: skip
