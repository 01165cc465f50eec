"""What histograms counted over time: a heat map, with single values that open their trace."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.clock import clock
from tracekit.charts.colours import ACCENT
from tracekit.charts.latency_heat import SHADES
from tracekit.wording import moment_text, quantity_text

_HEIGHT_PIXELS = 300


def metric_heat(cells: pl.DataFrame, exemplars: pl.DataFrame, *, title: str, unit: str | None) -> alt.LayerChart:
    """Cells of the clock and of buckets, the darker the more values; exemplars as points on top.

    `cells` has `first_ns`, `last_ns`, `low` and `high` (null where a bucket has no end there) and `value_count`;
    `exemplars` `time_ns`, `value` and `trace_id`, and is drawn in its order: a click on a point selects the number of
    a row (parameter `exemplar`, field `number`). Dragging selects a range of the clock (parameter `time`, field
    `start_ms`).
    """
    heat = (
        alt.Chart(_cells(cells, unit), height=_HEIGHT_PIXELS)
        .mark_rect()
        .encode(
            x=clock("start_ms"),
            x2="end_ms:T",
            y=alt.Y("low:Q", title=title, axis=alt.Axis(tickCount=5, format="~s", grid=False)),
            y2="high:Q",
            color=alt.Color("value_count:Q", title="values", scale=alt.Scale(type="symlog", range=SHADES)),
            tooltip=[
                alt.Tooltip("begins:N", title="from"),
                alt.Tooltip("between:N", title="value"),
                alt.Tooltip("value_count:Q", title="values"),
            ],
        )
        .add_params(alt.selection_interval(name="time", encodings=["x"]))
    )
    if exemplars.is_empty():
        return alt.layer(heat).configure_view(strokeWidth=0)
    return alt.layer(heat, _points(exemplars, unit)).configure_view(strokeWidth=0)


def _points(exemplars: pl.DataFrame, unit: str | None) -> alt.Chart:
    texts = [quantity_text(value, unit) for value in exemplars["value"]]
    rows = exemplars.with_row_index("number").select(
        "number",
        "value",
        "trace_id",
        (pl.col("time_ns") / 1_000_000).alias("start_ms"),
        pl.Series("text", texts, dtype=pl.String),
    )
    chosen = alt.selection_point(name="exemplar", fields=["number"], on="click", empty=False)
    return (
        alt.Chart(rows)
        .mark_point(filled=True, size=45, color=ACCENT, stroke="white", strokeWidth=1, opacity=0.9, cursor="pointer")
        .encode(
            x=clock("start_ms"),
            y="value:Q",
            tooltip=[alt.Tooltip("text:N", title="value"), alt.Tooltip("trace_id:N", title="trace")],
        )
        .add_params(chosen)
    )


def _cells(cells: pl.DataFrame, unit: str | None) -> pl.DataFrame:
    """Rows ready to draw; a bucket without an end is drawn as thin as its other end."""
    ends = cells.with_columns(pl.col("low").fill_null(pl.col("high")), pl.col("high").fill_null(pl.col("low")))
    between = [
        f"{quantity_text(low, unit)} to {quantity_text(high, unit)}"
        for low, high in ends.select("low", "high").iter_rows()
    ]
    return ends.select(
        "low",
        "high",
        "value_count",
        (pl.col("first_ns") / 1_000_000).alias("start_ms"),
        (pl.col("last_ns") / 1_000_000).alias("end_ms"),
        pl.Series("begins", [moment_text(first) for first in ends["first_ns"]], dtype=pl.String),
        pl.Series("between", between, dtype=pl.String),
    )
