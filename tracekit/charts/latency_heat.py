"""How long units took over time: a heat map whose cells can be clicked."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.clock import clock
from tracekit.charts.colours import ACCENT
from tracekit.charts.durations import axis_unit
from tracekit.wording import duration_text, moment_text

_HEIGHT_PIXELS = 260
SHADES = ["#c9d8f2", "#7ea3de", "#3a78d6", "#1b3f73"]
"""From pale to strong in one hue that reads on light and dark ground."""


def latency_heat(cells: pl.DataFrame) -> alt.Chart:
    """Cells of time and duration, the darker the more units; a red frame where some of them failed.

    `cells` has `first_ns`, `last_ns`, `least_ns`, `below_ns`, `unit_count` and `failed_count`, and is drawn in its
    order: a click selects the number of a row (parameter `cell`, field `number`), dragging a rectangle of the clock and
    of durations (parameter `area`, fields `start_ms` and `least`, in the unit of `axis_unit`).
    """
    unit, unit_ns = axis_unit(int(max(cells["below_ns"].to_list(), default=0)))
    rows = _rows(cells, unit_ns=unit_ns)
    chosen = alt.selection_point(name="cell", fields=["number"], on="click", empty=False)
    scale = alt.Scale(type="log", nice=False)
    place = {
        "x": clock("start_ms"),
        "x2": "end_ms:T",
        "y": alt.Y(
            "least:Q", title=f"duration ({unit})", scale=scale, axis=alt.Axis(tickCount=5, format="~g", grid=False)
        ),
        "y2": "below:Q",
    }
    framed = alt.when(chosen).then(alt.value(3)).when(alt.datum.failed_count > 0).then(alt.value(1))
    return (
        alt.Chart(rows, height=_HEIGHT_PIXELS)
        .mark_rect(cursor="pointer", stroke=ACCENT)
        .encode(
            **place,
            color=alt.Color("unit_count:Q", title="count", scale=alt.Scale(type="log", range=SHADES)),
            strokeWidth=framed.otherwise(alt.value(0)),
            tooltip=[
                alt.Tooltip("begins:N", title="from"),
                alt.Tooltip("between:N", title="duration"),
                alt.Tooltip("unit_count:Q", title="units"),
                alt.Tooltip("failed_count:Q", title="failed"),
            ],
        )
        .add_params(chosen, alt.selection_interval(name="area"))
        .configure_view(strokeWidth=0)
    )


def _rows(cells: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    between = [
        f"{duration_text(least)} to {duration_text(below)}"
        for least, below in cells.select("least_ns", "below_ns").rows()
    ]
    return cells.with_row_index("number").select(
        "number",
        "unit_count",
        "failed_count",
        (pl.col("first_ns") / 1_000_000).alias("start_ms"),
        (pl.col("last_ns") / 1_000_000).alias("end_ms"),
        # A logarithm has no zero: the cell of no time begins at one nanosecond.
        (pl.col("least_ns").clip(1) / unit_ns).alias("least"),
        (pl.col("below_ns") / unit_ns).alias("below"),
        pl.Series("begins", [moment_text(first) for first in cells["first_ns"]], dtype=pl.String),
        pl.Series("between", between, dtype=pl.String),
    )
