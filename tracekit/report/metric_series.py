"""Metrics for a terminal: moments, durations and sizes as people read them."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import MetricsAnswer
from tracekit.output import table
from tracekit.report.answers import text_for
from tracekit.schema import METRIC_GROUPS
from tracekit.wording import moment_text, quantity_text

_IN_UNIT = ("mean", "total", "least", "largest", "increase", "rate_per_s", "p50", "p90", "p99", "p99_low", "p99_high")


@text_for(MetricsAnswer)
def metrics_text(answer: MetricsAnswer) -> str:
    """The summary, then the list of metrics, or one of them over time."""
    shown = answer.shown
    if shown.is_empty():
        return answer.summary
    laid_out = _catalogue(shown) if answer.metric is None else _values(shown, answer.unit)
    return f"{answer.summary}\n\n{table(laid_out)}"


def _catalogue(catalogue: pl.DataFrame) -> pl.DataFrame:
    return catalogue.select(
        "metric",
        "sender_name",
        pl.col("unit").fill_null(""),
        "kind",
        pl.col("stage").fill_null(""),
        pl.col("service_name").fill_null("").alias("service"),
        pl.col("host_count").alias("hosts"),
        pl.col("series_count").alias("series"),
        pl.col("point_count").alias("points"),
    )


def _values(values: pl.DataFrame, unit: str | None) -> pl.DataFrame:
    # Histograms count values, whatever these are measured in.
    plain = {"increase", "rate_per_s"} if values["kind"][0] == "histogram" else set()
    texts = [
        pl.Series(name, [quantity_text(value, None if name in plain else unit) for value in values[name]], pl.String)
        for name in _IN_UNIT
        if name in values.columns
    ]
    start = pl.Series("from", [moment_text(start_ns) for start_ns in values["start_ns"]], pl.String)
    groups = [pl.col(name).fill_null("") for name in ("sender_name", *METRIC_GROUPS) if name in values.columns]
    counts = [name for name in ("restart_count", "unsplit_count") if name in values.columns and values[name].sum()]
    return values.select(start, *groups, *texts, *counts)
