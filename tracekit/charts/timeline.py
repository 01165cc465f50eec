"""Spans and ranks on one time axis, with the time that each really owns."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.charts.colours import ACCENT, NEUTRAL, colour_scale
from tracekit.charts.durations import axis_unit
from tracekit.foreign import LONGEST_NAME, plain_frame
from tracekit.schema import StepStage
from tracekit.wording import duration_text, exact_text

WAITING_STAGES = frozenset({StepStage.STRAGGLER_WAIT, StepStage.PIPELINE_BUBBLE})
"""Stages in which a rank does nothing but wait for another one: drawn pale with a dashed outline."""

_ROW_PIXELS = 20
_BAR_PIXELS = 12
_LABEL_PIXELS = 280
# Axis values must be unique, labels need not be: the row number before this sign makes them so.
_SEPARATOR = "|"
# Charts trim labels; a zero-width space, which is no whitespace to them, keeps the indentation.
_EDGE = "\u200b"
_INDENT = "\u2003"


def timeline(bars: pl.DataFrame, segments: pl.DataFrame, *, highlighted: int | None = None) -> alt.LayerChart:
    """One row a bar, in the order of `row`: the bar pale, the windows that it owns solid over it.

    `bars` has `row` (0, 1, …), `label`, `depth` (indentation), `start_ns`, `end_ns` (offsets on the
    common axis), `stage`, `owner`, `is_virtual` (an operation without a span of its own: dashed outline)
    and `note` (for the tooltip). `segments` has `row`, `start_ns`, `end_ns`, `stage` and `note`. A click
    selects a row (parameter `row`); the `highlighted` row is framed in the accent colour.
    """
    bars, segments = (plain_frame(frame, longest=LONGEST_NAME) for frame in (bars, segments))
    longest_ns = max([*bars["end_ns"], *segments["end_ns"]], default=0)
    unit, unit_ns = axis_unit(longest_ns)
    places = bars.sort("row").select("row", "label", _place().alias("place"))
    drawn = [_rows(frame, places, unit_ns=unit_ns) for frame in (bars, segments)]
    colour, row_axis = _colour(segments, bars), _row_axis(places)
    time_axis = _time_axis(unit, longest=longest_ns / unit_ns)
    layers = [
        _spans(drawn[0]).encode(x=time_axis, y=row_axis, color=colour),
        _owned(drawn[1]).encode(x="start:Q", y=row_axis, color=colour),
    ]
    if highlighted is not None:
        layers.append(_frame(drawn[0].filter(pl.col("row") == highlighted)).encode(x="start:Q", y=row_axis))
    return alt.layer(*layers).properties(height={"step": _ROW_PIXELS}).configure_view(strokeWidth=0)


def _place() -> pl.Expr:
    indentation = pl.lit(_INDENT).repeat_by("depth").list.join("")
    return pl.concat_str(pl.col("row").cast(pl.String), pl.lit(_SEPARATOR + _EDGE), indentation, "label")


def _rows(frame: pl.DataFrame, places: pl.DataFrame, *, unit_ns: int) -> pl.DataFrame:
    """Positions in the axis unit; the exact figures as text, because a browser's numbers end at 2^53."""
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    return (
        frame.drop("label", strict=False)
        .join(places, on="row", how="inner", maintain_order="left")
        .with_columns(
            (pl.col("start_ns") / unit_ns).alias("start"),
            (pl.col("end_ns") / unit_ns).alias("end"),
            pl.col("start_ns").map_elements(exact_text, return_dtype=pl.String).alias("starts_after"),
            length_ns.map_elements(_length_text, return_dtype=pl.String).alias("lasts"),
            pl.col("stage").is_in(WAITING_STAGES).alias("is_waiting"),
        )
        .drop("start_ns", "end_ns")
    )


def _length_text(length_ns: int) -> str:
    return f"{duration_text(length_ns)} ({exact_text(length_ns)})"


def _row_axis(places: pl.DataFrame) -> alt.Y:
    axis = alt.Axis(
        labelExpr=f"slice(datum.value, indexof(datum.value, '{_SEPARATOR}') + 1)",
        labelAlign="left",
        labelPadding=_LABEL_PIXELS,
        labelLimit=_LABEL_PIXELS - 10,
        minExtent=_LABEL_PIXELS,
        labelFlush=False,
        ticks=False,
        domain=False,
        title=None,
    )
    return alt.Y("place:N", sort=places["place"].to_list(), axis=axis)


def _time_axis(unit: str, *, longest: float) -> alt.X:
    axis = alt.Axis(orient="top", grid=True, tickCount=8)
    return alt.X(
        "start:Q",
        title=f"since the start ({unit})",
        axis=axis,
        scale=alt.Scale(domain=[0, longest], nice=False),
    )


def _colour(segments: pl.DataFrame, bars: pl.DataFrame) -> alt.Color:
    domain, colours = colour_scale([*segments["stage"], *bars["stage"]])
    legend = alt.Legend(
        orient="bottom", title=None, columns=6, labelLimit=200, symbolType="square", symbolStrokeWidth=0
    )
    return alt.Color("stage:N", scale=alt.Scale(domain=domain, range=colours), legend=legend)


def _spans(rows: pl.DataFrame) -> alt.Chart:
    chosen = alt.selection_point(name="row", fields=["row"], on="click", empty=False)
    outline = alt.when(chosen | alt.datum.is_virtual)
    return (
        alt.Chart(rows)
        .mark_bar(cornerRadius=2, height=_BAR_PIXELS, cursor="pointer", fillOpacity=0.32, stroke=NEUTRAL)
        .encode(
            x2="end:Q",
            strokeDash=alt.when(alt.datum.is_virtual).then(alt.value([3, 2])).otherwise(alt.value([1, 0])),
            strokeWidth=outline.then(alt.value(1)).otherwise(alt.value(0)),
            tooltip=_tooltip("owner:N"),
        )
        .add_params(chosen)
    )


def _owned(rows: pl.DataFrame) -> alt.Chart:
    waiting = alt.when(alt.datum.is_waiting)
    return (
        alt.Chart(rows)
        .mark_bar(height=_BAR_PIXELS, cursor="pointer", stroke=NEUTRAL)
        .encode(
            x2="end:Q",
            fillOpacity=waiting.then(alt.value(0.3)).otherwise(alt.value(1.0)),
            strokeWidth=waiting.then(alt.value(1)).otherwise(alt.value(0)),
            strokeDash=waiting.then(alt.value([3, 2])).otherwise(alt.value([1, 0])),
            tooltip=_tooltip(),
        )
    )


def _frame(rows: pl.DataFrame) -> alt.Chart:
    mark = alt.Chart(rows).mark_bar(
        height=_BAR_PIXELS + 5, filled=False, stroke=ACCENT, strokeWidth=1.5, cornerRadius=3
    )
    return mark.encode(x2="end:Q")


def _tooltip(*more: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="operation"),
        alt.Tooltip("stage:N"),
        *(alt.Tooltip(field) for field in more),
        alt.Tooltip("starts_after:N", title="starts after"),
        alt.Tooltip("lasts:N", title="lasts"),
        alt.Tooltip("note:N", title="note"),
    ]
