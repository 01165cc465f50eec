"""The additive split of a tail's excess, one bar a stage or a cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl

from tracekit.charts.colours import ACCENT, NEUTRAL, colour_scale
from tracekit.charts.durations import axis_unit
from tracekit.foreign import LONGEST_NAME, plain_frame
from tracekit.schema import UNATTRIBUTED
from tracekit.wording import duration_text, exact_text, share_text

_ROW_PIXELS = 30
_SMALL_SHARE = 0.01
_MEASURES = {
    "excess_ns": "excess",
    "low_ns": "low",
    "high_ns": "high",
    "alternative_excess_ns": "alternative",
}


def excess_by_stage(stages: pl.DataFrame, *, culprit: str | None = None) -> alt.LayerChart:
    """Horizontal bars of each stage's part of the excess, the largest first; the parts sum to the excess.

    `stages` has one row a stage: `stage`, `owner`, `excess_ns`, `share`, `low_ns`, `high_ns` (95 %
    interval, null where none can be given) and `significant` (null likewise). A column
    `alternative_excess_ns`, where there is one, is drawn as a diamond where it differs: what the other
    rule of ownership would say. Intervals have whiskers, stages that are not significant are faded, and
    the `culprit` has its figures in the accent colour. A click selects a stage (parameter `stage`).
    """
    is_culprit = pl.col("stage") == pl.lit(culprit or "")
    stages = plain_frame(stages, longest=LONGEST_NAME)
    return _bar_chart(stages.with_columns(pl.col("stage").alias("bar"), is_culprit.alias("is_culprit")))


def excess_by_cause(causes: pl.DataFrame) -> alt.LayerChart:
    """Horizontal bars of the waiting for other ranks, by the rank waited for and what it was doing meanwhile.

    `causes` has one row a cause: `culprit_rank` (null where nobody can be named), `culprit_stage`,
    `culprit_operation` and `excess_ns`. Causes of less than 1 % of the whole each are one bar, which
    says how many they are, so that the bars still sum to the whole. The largest cause with a name has
    its figures in the accent colour; bars have the colour of the culprit's stage. No intervals: the
    split of the waiting is exact for these steps.
    """
    causes = plain_frame(causes, longest=LONGEST_NAME)
    rank = pl.format("rank {}", "culprit_rank").fill_null("nobody")
    rows = causes.select(
        pl.concat_str(rank, pl.lit(" · "), "culprit_operation").alias("bar"),
        pl.col("culprit_stage").alias("stage"),
        rank.alias("owner"),
        "excess_ns",
        _is_largest_named().alias("is_culprit"),
    )
    whole_ns = causes["excess_ns"].sum()
    return _bar_chart(
        _small_ones_together(rows).with_columns(
            (pl.col("excess_ns") / whole_ns if whole_ns else pl.lit(None, dtype=pl.Float64)).alias("share"),
            pl.lit(None, dtype=pl.Int64).alias("low_ns"),
            pl.lit(None, dtype=pl.Int64).alias("high_ns"),
            pl.lit(None, dtype=pl.Boolean).alias("significant"),
        )
    )


def _is_largest_named() -> pl.Expr:
    named = pl.when(pl.col("culprit_rank").is_not_null()).then("excess_ns")
    return ((named == named.max()) & (named > 0)).fill_null(value=False)


def _small_ones_together(rows: pl.DataFrame) -> pl.DataFrame:
    is_small = pl.col("excess_ns").abs() < _SMALL_SHARE * pl.col("excess_ns").abs().sum()
    small = rows.filter(is_small)
    if small.height < 2:
        return rows
    together = small.select(
        pl.format("{} others", pl.len()).alias("bar"),
        pl.lit(UNATTRIBUTED).alias("stage"),
        pl.lit("several").alias("owner"),
        pl.col("excess_ns").sum(),
        pl.lit(value=False).alias("is_culprit"),
    )
    return pl.concat([rows.filter(~is_small), together])


def _bar_chart(parts: pl.DataFrame) -> alt.LayerChart:
    unit, unit_ns = axis_unit(_longest_ns(parts))
    rows = _rows(parts, unit_ns=unit_ns)
    base = alt.Chart(rows, height={"step": _ROW_PIXELS}).encode(y=_bar_axis(rows))
    layers = [_zero_line(), _bars(base, rows, unit=unit)]
    if rows["low"].count():
        layers.append(_whiskers(base))
    if "alternative" in rows.columns and (rows["alternative"] != rows["excess"]).any():
        layers.append(_alternative_marks(base))
    return alt.layer(*layers, _labels(base)).configure_view(strokeWidth=0)


def _longest_ns(parts: pl.DataFrame) -> int:
    values = [value for name in _MEASURES if name in parts.columns for value in parts[name].to_list()]
    return max((abs(value) for value in values if value is not None), default=0)


def _rows(parts: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    """Rows ready to draw: values in the axis unit, and texts for labels and tooltips."""
    shown = {name: short for name, short in _MEASURES.items() if name in parts.columns}
    rows = parts.sort("excess_ns", "bar", descending=[True, False]).select(
        "bar",
        "stage",
        "owner",
        *((pl.col(name) / unit_ns).alias(short) for name, short in shown.items()),
        *(_text(name, exact_text).alias(f"{short}_exact") for name, short in shown.items()),
        _text("excess_ns", lambda value: duration_text(value, signed=True)).alias("amount"),
        _text("share", share_text).fill_null("–").alias("percent"),
        _interval().alias("interval"),
        _certainty().alias("certainty"),
        "is_culprit",
    )
    return rows.with_columns(
        pl.concat_str("amount", "percent", "owner", separator="  ·  ").alias("label"),
        pl.max_horizontal(pl.lit(0.0), "excess", "high", *({"alternative"} & set(rows.columns))).alias("label_at"),
    )


def _interval() -> pl.Expr:
    ends = pl.concat_str(_text("low_ns", duration_text), pl.lit(" to "), _text("high_ns", duration_text))
    return ends.fill_null("cannot be told")


def _certainty() -> pl.Expr:
    known = pl.when("significant").then(pl.lit("yes")).otherwise(pl.lit("no"))
    return pl.when(pl.col("significant").is_null()).then(pl.lit("cannot be told")).otherwise(known)


def _text(column: str, render: Callable[[Any], str]) -> pl.Expr:
    return pl.col(column).map_elements(render, return_dtype=pl.String)


def _bar_axis(rows: pl.DataFrame) -> alt.Y:
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)
    return alt.Y("bar:N", sort=rows["bar"].to_list(), title=None, axis=axis)


def _zero_line() -> alt.Chart:
    return alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color=NEUTRAL, opacity=0.5).encode(x="zero:Q")


def _bars(base: alt.Chart, rows: pl.DataFrame, *, unit: str) -> alt.Chart:
    chosen = alt.selection_point(name="stage", fields=["stage"], on="click", empty=True)
    domain, colours = colour_scale(rows["stage"])
    strength = alt.when(chosen & (alt.datum.certainty != "no")).then(alt.value(1.0))
    return (
        base.mark_bar(cornerRadius=2, height=16, cursor="pointer")
        .encode(
            x=alt.X("excess:Q", title=f"part of the excess ({unit})", axis=alt.Axis(grid=True, tickCount=6)),
            color=alt.Color("stage:N", scale=alt.Scale(domain=domain, range=colours), legend=None),
            opacity=strength.when(chosen).then(alt.value(0.45)).otherwise(alt.value(0.2)),
            tooltip=_tooltip(),
        )
        .add_params(chosen)
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("stage:N"),
        alt.Tooltip("owner:N"),
        alt.Tooltip("excess_exact:N", title="excess"),
        alt.Tooltip("percent:N", title="share"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("certainty:N", title="significant"),
    ]


def _whiskers(base: alt.Chart) -> alt.Chart:
    known = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    return known.mark_errorbar(ticks=True, color=NEUTRAL, thickness=1.5).encode(x=alt.X("low:Q", title=""), x2="high:Q")


def _alternative_marks(base: alt.Chart) -> alt.Chart:
    tooltip = [alt.Tooltip("stage:N"), alt.Tooltip("alternative_exact:N", title="by the other rule")]
    differing = base.transform_filter("datum.alternative !== datum.excess")
    mark = differing.mark_point(shape="diamond", filled=False, color=NEUTRAL, size=50, strokeWidth=1.5)
    return mark.encode(x="alternative:Q", tooltip=tooltip)


def _labels(base: alt.Chart) -> alt.Chart:
    return base.mark_text(align="left", dx=12, fontSize=12).encode(
        x="label_at:Q",
        text="label:N",
        color=alt.when(alt.datum.is_culprit).then(alt.value(ACCENT)).otherwise(alt.value(NEUTRAL)),
    )
