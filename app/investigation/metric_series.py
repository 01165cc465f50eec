"""Which metric is shown, and how it moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl
import streamlit as st

from investigation.address import Address
from investigation.border import dataframe
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.schema import METRIC_GROUPS
from tracekit.wording import moment_text

_WINDOWS_S = (1, 2, 5, 10, 15, 30, 60, 300, 900, 3600, 21_600, 86_400)
_MOST_WINDOWS = 120
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
        rows = listed.filter(metric=metric)
        span_s = (rows["last_ns"].max() - rows["first_ns"].min()) / 1e9 if len(rows) else 0
        fitting = [seconds for seconds in _WINDOWS_S if span_s / seconds <= _MOST_WINDOWS] or [_WINDOWS_S[-1]]
        every_s = st.select_slider("Window (s)", fitting, key="every", width=220) if len(fitting) > 1 else fitting[0]
    address.stop_if_refused()
    return None if metric is None else MetricQuestion(metric, tuple(by), float(every_s))


def course(answer: Any) -> None:
    """The metric over time as lines, and as a table."""
    st.markdown(markdown(answer.summary))
    values = answer.values
    if values.is_empty():
        return
    kind = values["kind"][0]
    measure = st.segmented_control(
        "Show", charts.METRIC_MEASURES[kind], default=charts.METRIC_MEASURES[kind][0], key=f"show_{kind}"
    )
    measure = measure or charts.METRIC_MEASURES[kind][0]
    st.altair_chart(charts.metric_course(answer, measure), alt=f"{answer.metric} over time")
    if kind == "histogram" and measure != "rate_per_s":
        st.caption("Quantiles are estimates from buckets; the true value lies in the band around the line.")
    with st.expander("All figures", icon=":material/table_rows:"):
        dataframe(answer.shown, hide_index=True, placeholder="–", alt=f"All figures of {answer.metric}")


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
