"""The distribution of a metric, with the slow ones and what they are compared with marked."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.colours import ACCENT, BASELINE, NEUTRAL
from tracekit.charts.durations import axis_unit, duration_text, exact_text

COHORT_COLOURS = {"slow": ACCENT, "baseline": BASELINE, "other": "#b4b9c2"}
"""The cohorts and their colours, in the order in which they are piled up."""

_LOGARITHMIC_FROM = 30
_HEIGHT_PIXELS = 220


def distribution(
    bins: pl.DataFrame,
    *,
    metric: str,
    threshold_ns: int | None = None,
    limits_ns: tuple[int, int] | None = None,
) -> alt.LayerChart:
    """A histogram of a metric in units (requests, steps), with a line where the slow ones begin.

    `bins` has one row a bin and cohort: `low_ns`, `high_ns`, `cohort` (slow, baseline or other) and
    `unit_count`. The axis covers `limits_ns` (default: the bins), so that two charts can share one; it is
    logarithmic where its end is more than 30 times its beginning.
    """
    limits = limits_ns or (
        min(bins["low_ns"].to_list(), default=0),
        max(bins["high_ns"].to_list(), default=1),
    )
    unit, unit_ns = axis_unit(limits[1])
    layers = [
        _bars(
            _rows(bins, unit_ns=unit_ns),
            axis=_value_axis(limits, unit_ns=unit_ns, title=f"{metric} ({unit})"),
        )
    ]
    if threshold_ns is not None:
        layers += _threshold(threshold_ns, unit_ns=unit_ns)
    return alt.layer(*layers).properties(height=_HEIGHT_PIXELS).configure_view(strokeWidth=0)


def _rows(bins: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    """Bars piled up in the order of the cohorts, in the axis unit, with exact limits as text."""
    places = pl.col("cohort").replace_strict({name: place for place, name in enumerate(COHORT_COLOURS)})
    exact = [pl.col(name).map_elements(exact_text, return_dtype=pl.String) for name in ("low_ns", "high_ns")]
    return (
        bins.sort("low_ns", places)
        .with_columns(pl.col("unit_count").cast(pl.Int64).cum_sum().over("low_ns").alias("top"))
        .select(
            "cohort",
            "unit_count",
            "top",
            (pl.col("top") - pl.col("unit_count").cast(pl.Int64)).alias("bottom"),
            (pl.col("low_ns") / unit_ns).alias("low"),
            (pl.col("high_ns") / unit_ns).alias("high"),
            pl.concat_str(exact[0], pl.lit(" to "), exact[1]).alias("between"),
        )
    )


def _value_axis(limits: tuple[int, int], *, unit_ns: int, title: str) -> alt.X:
    is_wide = limits[0] > 0 and limits[1] > _LOGARITHMIC_FROM * limits[0]
    domain = [limits[0] / unit_ns, limits[1] / unit_ns]
    scale = alt.Scale(type="log" if is_wide else "linear", domain=domain, nice=False)
    return alt.X("low:Q", title=title, scale=scale, axis=alt.Axis(grid=False, tickCount=8, format="~g"))


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
    )


def _threshold(threshold_ns: int, *, unit_ns: int) -> list[alt.Chart]:
    label = f"slow from {duration_text(threshold_ns)}"
    mark = alt.Chart(pl.DataFrame({"threshold": [threshold_ns / unit_ns], "label": [label]})).encode(
        x="threshold:Q"
    )
    text = mark.mark_text(align="left", dx=5, baseline="top", color=NEUTRAL, fontSize=11)
    return [mark.mark_rule(color=ACCENT, strokeDash=[4, 3]), text.encode(y=alt.value(2), text="label:N")]
