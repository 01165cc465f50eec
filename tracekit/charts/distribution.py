"""The distribution of a metric, with the slow ones and what they are compared with marked."""

from __future__ import annotations

import altair as alt
import numpy as np
import polars as pl

from tracekit.charts.colours import ACCENT, BASELINE, NEUTRAL
from tracekit.charts.durations import axis_unit
from tracekit.errors import UsageError
from tracekit.wording import duration_text, exact_text

COHORT_COLOURS = {"slow": ACCENT, "baseline": BASELINE, "other": "#b4b9c2"}
"""The cohorts and their colours, in the order in which they are piled up."""

_LOGARITHMIC_FROM = 30
_HEIGHT_PIXELS = 300
_BAR_COUNT = 48


def distribution(
    units: pl.DataFrame,
    *,
    metric: str,
    threshold_ns: int | None = None,
    limits_ns: tuple[int, int] | None = None,
) -> alt.LayerChart:
    """A histogram of a metric in units (requests, steps), with a line where the slow ones begin.

    `units` has one row a unit: `value_ns` and `cohort` (slow, baseline or other). Every unit is in
    exactly one bar. The axis covers `limits_ns` (smallest and largest value, default: those of `units`),
    so that two charts can share one; it is logarithmic where its end is more than 30 times its
    beginning. Dragging selects a range of the metric (parameter `range`, field `low`, in the unit of `axis_unit`).
    """
    edges = _edges(limits_ns or _limits(units))
    unit, unit_ns = axis_unit(int(edges[-1]))
    rows = _rows(_counted(units, edges), unit_ns=unit_ns)
    layers = [_bars(rows, axis=_value_axis(edges, unit_ns=unit_ns, title=f"{metric} ({unit})"))]
    if threshold_ns is not None:
        layers += _threshold(threshold_ns, unit_ns=unit_ns)
    return alt.layer(*layers).properties(height=_HEIGHT_PIXELS).configure_view(strokeWidth=0)


def _limits(units: pl.DataFrame) -> tuple[int, int]:
    values = units["value_ns"]
    return (values.min(), values.max()) if units.height else (0, 1)  # type: ignore[return-value]


def _is_wide(first: float, last: float) -> bool:
    return first > 0 and last > _LOGARITHMIC_FROM * first


def _edges(limits: tuple[int, int]) -> np.ndarray:
    """Whole nanoseconds at which bars begin, and the end of the last one, which holds the largest value."""
    first, last = limits[0], limits[1] + 1
    spread = np.geomspace if _is_wide(first, last) else np.linspace
    edges = np.unique(np.round(spread(first, last, _BAR_COUNT + 1)).astype(np.int64))
    edges[0], edges[-1] = first, last
    return edges


def _counted(units: pl.DataFrame, edges: np.ndarray) -> pl.DataFrame:
    bars = np.searchsorted(edges, units["value_ns"].to_numpy(), side="right") - 1
    outside = int(((bars < 0) | (bars >= len(edges) - 1)).sum())
    if outside:
        raise UsageError(f"{outside} units lie outside the limits of the chart: widen `limits_ns`", option="limits_ns")
    counted = units.select("cohort", pl.Series("bar", bars)).group_by("bar", "cohort").len("unit_count")
    return counted.select(
        "cohort",
        pl.col("unit_count").cast(pl.Int64),
        pl.Series("low_ns", edges[counted["bar"].to_numpy()], dtype=pl.Int64),
        pl.Series("high_ns", edges[counted["bar"].to_numpy() + 1], dtype=pl.Int64),
    )


def _rows(bins: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    """Bars piled up in the order of the cohorts, in the axis unit, with exact limits as text."""
    order = {name: place for place, name in enumerate(COHORT_COLOURS)}
    low, high = (pl.col(name).map_elements(exact_text, return_dtype=pl.String) for name in ("low_ns", "high_ns"))
    return (
        bins.sort("low_ns", pl.col("cohort").replace_strict(order, return_dtype=pl.Int64))
        .with_columns(pl.col("unit_count").cum_sum().over("low_ns").alias("top"))
        .select(
            "cohort",
            "unit_count",
            "top",
            (pl.col("top") - pl.col("unit_count")).alias("bottom"),
            (pl.col("low_ns") / unit_ns).alias("low"),
            (pl.col("high_ns") / unit_ns).alias("high"),
            pl.concat_str(low, pl.lit(" to "), high).alias("between"),
        )
    )


def _value_axis(edges: np.ndarray, *, unit_ns: int, title: str) -> alt.X:
    domain = [float(edges[0] / unit_ns), float(edges[-1] / unit_ns)]
    scale = alt.Scale(type="log" if _is_wide(*domain) else "linear", domain=domain, nice=False)
    return alt.X("low:Q", title=title, scale=scale, axis=alt.Axis(grid=False, tickCount=8, format=".3~r"))


def _bars(rows: pl.DataFrame, *, axis: alt.X) -> alt.Chart:
    present = [cohort for cohort in COHORT_COLOURS if cohort in rows["cohort"].to_list()]
    scale = alt.Scale(domain=present, range=[COHORT_COLOURS[cohort] for cohort in present])
    return (
        alt.Chart(rows)
        .mark_rect(stroke=None)
        .encode(
            x=axis,
            x2="high:Q",
            y=alt.Y("bottom:Q", title="units", axis=alt.Axis(tickCount=4, tickMinStep=1)),
            y2="top:Q",
            color=alt.Color("cohort:N", scale=scale, legend=alt.Legend(orient="bottom", title=None)),
            tooltip=[
                alt.Tooltip("between:N"),
                alt.Tooltip("cohort:N"),
                alt.Tooltip("unit_count:Q", title="units"),
            ],
        )
        .add_params(alt.selection_interval(name="range", encodings=["x"]))
    )


def _threshold(threshold_ns: int, *, unit_ns: int) -> list[alt.Chart]:
    label = f"slow from {duration_text(threshold_ns)}"
    mark = alt.Chart(pl.DataFrame({"threshold": [threshold_ns / unit_ns], "label": [label]})).encode(x="threshold:Q")
    text = mark.mark_text(align="left", dx=4, baseline="bottom", color=NEUTRAL, fontSize=11)
    return [mark.mark_rule(color=ACCENT, strokeDash=[4, 3]), text.encode(y=alt.value(-2), text="label:N")]
