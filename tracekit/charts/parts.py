"""The parts of a whole as bars: leaves of a ledger, buckets of requests, misses by stage."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from tracekit.charts.colours import NEUTRAL, colour_scale, stage_colour
from tracekit.charts.durations import axis_unit
from tracekit.foreign import LONGEST_NAME, plain_frame
from tracekit.wording import culprit_text, duration_text, share_text, steps_text

_ROW_PIXELS = 28
_ROOM = 1.18


def parts_of_whole(parts: pl.DataFrame, *, title: str, colours: Mapping[str, str] | None = None) -> alt.LayerChart:
    """Horizontal bars, the largest part first, that sum to the whole.

    `parts` has one row a part: `part` (its name), `amount` (float, in the unit that `title` names) and `label` (what is
    written beside the bar). `colours` are those of parts that are no stages. A click selects a part (parameter `part`).
    """
    parts = plain_frame(parts, longest=LONGEST_NAME)
    rows = parts.filter(pl.col("amount") != 0).sort("amount", "part", descending=[True, False])
    domain, found = colour_scale(rows["part"])
    chosen = [(colours or {}).get(part, colour) for part, colour in zip(domain, found, strict=True)]
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)
    base = alt.Chart(rows, height={"step": _ROW_PIXELS}).encode(
        y=alt.Y("part:N", sort=rows["part"].to_list(), title=None, axis=axis)
    )
    picked = alt.selection_point(name="part", fields=["part"], on="click", empty=True)
    bars = base.mark_bar(cornerRadius=2, height=15, cursor="pointer").encode(
        x=alt.X("amount:Q", title=title, axis=alt.Axis(grid=True, tickCount=6), scale=_room(rows)),
        color=alt.Color("part:N", scale=alt.Scale(domain=domain, range=chosen), legend=None),
        opacity=alt.when(picked).then(alt.value(1.0)).otherwise(alt.value(0.3)),
        tooltip=[alt.Tooltip("part:N", title="part"), alt.Tooltip("label:N", title="amount")],
    )
    labels = base.mark_text(align="left", dx=8, fontSize=12, color=NEUTRAL).encode(x="amount:Q", text="label:N")
    return alt.layer(bars.add_params(picked), labels).configure_view(strokeWidth=0)


def lost_by_culprit(culprits: pl.DataFrame) -> alt.LayerChart:
    """Accelerator time lost, one bar a culprit in the colour of what it was doing, the costliest first.

    `culprits` has `rank`, `pipeline_stage`, `place`, `stage`, `operation`, `first_step`, `last_step`, `lost_ns` and
    `share`, as `StragglersAnswer.culprits`.
    """
    named = [
        f"{culprit_text(row)} · {row['operation'] or row['stage']} · {steps_text(row)}"
        for row in culprits.iter_rows(named=True)
    ]
    unit, unit_ns = axis_unit(int(max(culprits["lost_ns"].to_list(), default=0)))
    labels = [
        f"{duration_text(lost)}  ·  {share_text(share)}"
        for lost, share in culprits.select("lost_ns", "share").iter_rows()
    ]
    parts = pl.DataFrame({"part": named, "amount": culprits["lost_ns"] / unit_ns, "label": labels})
    colours = dict(zip(named, map(stage_colour, culprits["stage"]), strict=True))
    return parts_of_whole(parts, title=f"accelerator time lost ({unit})", colours=colours)


def _room(rows: pl.DataFrame) -> alt.Scale:
    """An axis that leaves the longest bar room for its label."""
    longest = max(rows["amount"].to_list(), default=1.0)
    return alt.Scale(domainMax=longest * _ROOM, nice=False)
