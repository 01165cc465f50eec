"""The units behind a tail answer: what the distribution and the strip over time are drawn from."""

from __future__ import annotations

import math

import polars as pl
import streamlit as st

from investigation.store import StoreFile, opened
from tracekit.schema import METRICS, Metric, Outcome

_STRIP_WINDOWS = 60
_NICE_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)


@st.cache_resource(max_entries=16, show_spinner=False)
def measured_units(file: StoreFile, metric: Metric, where: str | None, outcome: str) -> pl.DataFrame:
    """The units that ended so and have the metric: `unit_id`, `start_ns`, `value_ns`.

    `where` must be a condition that `tracekit.Store.tail` has accepted: it is put into the statement as
    it is.
    """
    with opened(file) as store:
        return store.sql(measured_statement(metric, where, outcome))


def measured_statement(metric: Metric, where: str | None, outcome: str) -> str:
    """The statement that finds the units of a question and their metric."""
    value, kind = METRICS[metric].column, METRICS[metric].unit_kind
    return (
        f"SELECT unit_id, start_ns, {value} AS value_ns FROM units "
        f"WHERE kind = '{kind}' AND outcome = '{Outcome(outcome)}' AND {value} >= 0 AND (\n{where or 'true'}\n)"
    )


def cohorts(units: pl.DataFrame, compared: pl.DataFrame) -> pl.DataFrame:
    """The units with their `cohort` as the answer compares them (`answer.units`): slow, baseline or other."""
    words = {"tail": "slow", "baseline": "baseline"}
    marks = compared.filter(pl.col("cohort").is_in(list(words))).select(
        "unit_id", pl.col("cohort").cast(pl.String).replace_strict(words).alias("cohort")
    )
    # A unit of both sides counts as slow.
    marks = marks.sort("cohort", descending=True).unique("unit_id", keep="first")
    return units.join(marks, on="unit_id", how="left").with_columns(pl.col("cohort").fill_null("other"))


@st.cache_resource(max_entries=16, show_spinner=False)
def stages_over_time(file: StoreFile, metric: Metric, where: str | None, outcome: str) -> pl.DataFrame:
    """Mean time of the units of `measured_units` in each stage, per window of the clock."""
    units = measured_units(file, metric, where, outcome)
    first_ns, last_ns = int(units["start_ns"].min()), int(units["start_ns"].max())
    window_ns = strip_window_ns(last_ns - first_ns)
    with opened(file) as store:
        return store.query(
            "explore/stages_over_time",
            unit_ids=units["unit_id"].to_list(),
            windows=list(METRICS[metric].windows),
            first_ns=first_ns // window_ns * window_ns,
            window_ns=window_ns,
        )


def strip_window_ns(range_ns: int) -> int:
    """The shortest round length of time that covers a range in at most sixty windows."""
    needed_s = range_ns / _STRIP_WINDOWS / 1e9
    seconds = next((nice for nice in _NICE_SECONDS if nice >= needed_s), math.ceil(needed_s / 86400) * 86400)
    return seconds * 1_000_000_000
