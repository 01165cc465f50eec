"""Counters and gauges over the clock, one line a group."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.clock import clock
from tracekit.foreign import LONGEST_NAME, plain_frame
from tracekit.wording import moment_text

_HEIGHT_PIXELS = 280


def metric_lines(values: pl.DataFrame, *, title: str, is_share: bool = False) -> alt.LayerChart:
    """Lines over time, with a band where a value is only known within bounds.

    `values` has one row a group and window: `group` (its name), `start_ns` (since the epoch), `value` (float, in the
    unit that `title` names), `low` and `high` (floats, null where nothing bounds the value) and `text` (the value as
    people read it). Shares have an axis in per cent. Dragging selects a range of the clock (parameter `time`, field
    `start_ms`).
    """
    values = plain_frame(values, longest=LONGEST_NAME)
    moments = pl.Series("moment", [moment_text(start_ns) for start_ns in values["start_ns"]], dtype=pl.String)
    rows = values.with_columns((pl.col("start_ns") / 1_000_000).alias("start_ms"), moments)
    colour = alt.Color("group:N", legend=alt.Legend(orient="bottom", title=None, columns=2, labelLimit=360))
    base = alt.Chart(rows, height=_HEIGHT_PIXELS).encode(x=clock("start_ms"), color=colour)
    band = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_area(opacity=0.18)
    tooltip = [
        alt.Tooltip("moment:N", title="from (UTC)"),
        alt.Tooltip("group:N", title="of"),
        alt.Tooltip("text:N", title="value"),
    ]
    line = base.mark_line(point=alt.OverlayMarkDef(size=18, aria=False)).encode(
        y=alt.Y("value:Q", title=title, axis=alt.Axis(tickCount=5, format="%" if is_share else "~s")), tooltip=tooltip
    )
    layers = [line] if rows["low"].null_count() == len(rows) else [band.encode(y="low:Q", y2="high:Q"), line]
    layers[-1] = layers[-1].add_params(alt.selection_interval(name="time", encodings=["x"]))
    return alt.layer(*layers).configure_view(strokeWidth=0)
