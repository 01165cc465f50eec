"""The parts of a whole as bars: leaves of a ledger, buckets of requests, misses by stage."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from tracekit.charts.colours import NEUTRAL, colour_scale
from tracekit.foreign import LONGEST_NAME, plain_frame

_ROW_PIXELS = 28


def parts_of_whole(parts: pl.DataFrame, *, title: str, colours: Mapping[str, str] | None = None) -> alt.LayerChart:
    """Horizontal bars, the largest part first, that sum to the whole.

    `parts` has one row a part: `part` (its name), `amount` (float, in the unit that `title` names) and `label` (what is
    written beside the bar). `colours` are those of parts that are no stages.
    """
    parts = plain_frame(parts, longest=LONGEST_NAME)
    rows = parts.filter(pl.col("amount") != 0).sort("amount", "part", descending=[True, False])
    domain, found = colour_scale(rows["part"])
    chosen = [(colours or {}).get(part, colour) for part, colour in zip(domain, found, strict=True)]
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)
    base = alt.Chart(rows, height={"step": _ROW_PIXELS}).encode(
        y=alt.Y("part:N", sort=rows["part"].to_list(), title=None, axis=axis)
    )
    bars = base.mark_bar(cornerRadius=2, height=15).encode(
        x=alt.X("amount:Q", title=title, axis=alt.Axis(grid=True, tickCount=6)),
        color=alt.Color("part:N", scale=alt.Scale(domain=domain, range=chosen), legend=None),
        tooltip=[alt.Tooltip("part:N", title="part"), alt.Tooltip("label:N", title="amount")],
    )
    labels = base.mark_text(align="left", dx=8, fontSize=12, color=NEUTRAL).encode(x="amount:Q", text="label:N")
    return alt.layer(bars, labels).configure_view(strokeWidth=0)
