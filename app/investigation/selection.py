"""The units behind a tail answer: what the distribution and the strip over time are drawn from."""

from __future__ import annotations

import math

import polars as pl
import streamlit as st

from investigation.store import StoreFile, opened
from tracekit.schema import BODY, METRICS, Metric, Outcome

_STRIP_WINDOWS = 60
_NICE_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)


@st.cache_data(max_entries=32, show_spinner=False)
def measured_units(file: StoreFile, metric: Metric, where: str | None) -> pl.DataFrame:
    """The units that end well and have the metric: `unit_id`, `start_ns`, `value_ns`.

    `where` must be a condition that `tracekit.Store.tail` has accepted: it is put into the statement as
    it is.
    """
    value = METRICS[metric].column
    statement = f"SELECT unit_id, start_ns, {value} AS value_ns FROM units WHERE kind = $kind AND outcome = $outcome"
    parameters = {"kind": METRICS[metric].unit_kind, "outcome": Outcome.OK}
    with opened(file) as store:
        return store.sql(f"{statement} AND {value} >= 0 AND (\n{where or 'true'}\n)", **parameters)


def cohorts(units: pl.DataFrame, *, threshold_ns: int, baseline: str) -> pl.DataFrame:
    """The units with their `cohort`: slow from the threshold, the middle where that is compared."""
    slow = pl.col("value_ns") >= threshold_ns
    middle = pl.lit(value=False)
    if baseline == "body":
        low_ns, high_ns = (quantile_ns(units["value_ns"], quantile) for quantile in BODY)
        middle = pl.col("value_ns").is_between(low_ns, high_ns)
    return units.with_columns(
        pl.when(slow)
        .then(pl.lit("slow"))
        .when(middle)
        .then(pl.lit("baseline"))
        .otherwise(pl.lit("other"))
        .alias("cohort")
    )


def baseline_cohorts(units: pl.DataFrame, *, quantile: float) -> pl.DataFrame:
    """Units of a baseline selection with their `cohort`: its own slow ones are the baseline."""
    slow = pl.col("value_ns") >= quantile_ns(units["value_ns"], quantile)
    return units.with_columns(pl.when(slow).then(pl.lit("baseline")).otherwise(pl.lit("other")).alias("cohort"))


def quantile_ns(values: pl.Series, quantile: float) -> int:
    """The smallest value at or below which at least this share of the values lies; 0 for no values."""
    if values.is_empty():
        return 0
    # The tolerance keeps 0.99 * 300 = 297.00000000000006 from meaning the 298th value.
    rank = math.ceil(quantile * len(values) - 1e-9)
    return values.sort()[min(max(rank, 1), len(values)) - 1]


@st.cache_data(max_entries=32, show_spinner=False)
def stages_over_time(file: StoreFile, metric: Metric, where: str | None) -> pl.DataFrame:
    """Mean time of the units of `measured_units` in each stage, per window of the clock."""
    units = measured_units(file, metric, where)
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
