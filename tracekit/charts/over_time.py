"""How the stages' part of a unit's time moves over the clock."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.clock import clock
from tracekit.charts.colours import colour_scale
from tracekit.charts.durations import axis_unit
from tracekit.wording import exact_text, moment_text

_HEIGHT_PIXELS = 250
_LEGEND_COLUMNS = 4
_LEGEND_ROW_PIXELS = 22


def stages_over_time(windows: pl.DataFrame) -> alt.Chart:
    """Stacked bars of the mean time in each stage per window of the clock; a pile is as high as the metric.

    `windows` has one row a window and stage: `window_start_ns`, `window_end_ns` (since the epoch), `stage`,
    `mean_ns` (float) and `unit_count` (units in the window, the same on each of its rows). Dragging selects a range of
    the clock (parameter `time`, field `start_ms`).
    """
    heaviest = _by_weight(windows)
    stacked = _stacked(windows, order=heaviest)
    unit, unit_ns = axis_unit(int(max(stacked["top_ns"].to_list(), default=0)))
    domain, colours = colour_scale(heaviest)
    legend = alt.Legend(orient="bottom", title=None, columns=_LEGEND_COLUMNS, labelLimit=150)
    # A page counts the legend as part of the height.
    height = _HEIGHT_PIXELS + _LEGEND_ROW_PIXELS * -(-len(heaviest) // _LEGEND_COLUMNS)
    return (
        alt.Chart(_rows(stacked, unit_ns=unit_ns), height=height)
        .mark_rect(stroke=None)
        .encode(
            x=clock("start_ms"),
            x2="end_ms:T",
            y=alt.Y("bottom:Q", title=f"mean ({unit})", axis=alt.Axis(tickCount=4)),
            y2="top:Q",
            color=alt.Color("stage:N", scale=alt.Scale(domain=domain, range=colours), legend=legend),
            tooltip=[
                alt.Tooltip("begins:N", title="from"),
                alt.Tooltip("stage:N"),
                alt.Tooltip("exact:N", title="mean per unit"),
                alt.Tooltip("unit_count:Q", title="units"),
            ],
        )
        .add_params(alt.selection_interval(name="time", encodings=["x"]))
        .configure_view(strokeWidth=0)
    )


def _stacked(windows: pl.DataFrame, *, order: list[str]) -> pl.DataFrame:
    """Bottom and top of each stage in its window's pile, in one order of stages throughout."""
    ranks = pl.DataFrame({"stage": order, "pile_place": range(len(order))}, schema_overrides={"pile_place": pl.Int64})
    return (
        windows.join(ranks, on="stage")
        .sort("window_start_ns", "pile_place")
        .with_columns(pl.col("mean_ns").cum_sum().over("window_start_ns").alias("top_ns"))
        .with_columns((pl.col("top_ns") - pl.col("mean_ns")).alias("bottom_ns"))
    )


def _rows(stacked: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    mean_ns = pl.col("mean_ns").round().cast(pl.Int64)
    return stacked.select(
        "stage",
        "unit_count",
        pl.col("window_start_ns").cast(pl.Int64).map_elements(moment_text, return_dtype=pl.String).alias("begins"),
        (pl.col("window_start_ns") / 1_000_000).alias("start_ms"),
        (pl.col("window_end_ns") / 1_000_000).alias("end_ms"),
        (pl.col("bottom_ns") / unit_ns).alias("bottom"),
        (pl.col("top_ns") / unit_ns).alias("top"),
        mean_ns.map_elements(exact_text, return_dtype=pl.String).alias("exact"),
    )


def _by_weight(windows: pl.DataFrame) -> list[str]:
    """Stages, the heaviest first, so that piles and legend begin with what matters."""
    totals = windows.group_by("stage").agg(pl.col("mean_ns").sum()).sort("mean_ns", "stage", descending=[True, False])
    return totals["stage"].to_list()
