"""What is drawn beside the bars of a timeline: events, links, counters; and a range of time, summed. Pure."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.schema import UNATTRIBUTED

_EVENTS = {"row": pl.Int64, "time_ns": pl.Int64, "name": pl.String}
_LINKS = {"row": pl.Int64, "linked_row": pl.Int64}
_POINTS = {"series": pl.String, "unit": pl.String, "time_ns": pl.Int64, "value": pl.Float64}


def event_marks(events: pl.DataFrame, bars: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """Events by row: `row`, `time_ns` (offset, on the corrected clock of their span), `name`."""
    known = bars.select("span_id", "row", "shift_ns").drop_nulls("span_id")
    placed = events.join(known, on="span_id", how="inner")
    time_ns = pl.col("time_ns") + pl.col("shift_ns") - origin_ns
    return placed.select("row", time_ns.alias("time_ns"), "name").cast(_EVENTS)


def link_marks(links: pl.DataFrame, bars: pl.DataFrame, trace_ids: list[str]) -> pl.DataFrame:
    """Links by row: `row`, `linked_row` (null where the linked span is not among the rows)."""
    known = bars.select("span_id", "row").drop_nulls("span_id")
    here = links.join(known, on="span_id", how="inner")
    there = known.select(pl.col("span_id").alias("linked_span_id"), pl.col("row").alias("linked_row"))
    found = here.join(there, on="linked_span_id", how="left")
    is_here = pl.col("linked_trace_id").is_in(trace_ids)
    return found.select("row", pl.when(is_here).then("linked_row").alias("linked_row")).cast(_LINKS)


def counter_marks(points: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """Readings of counters with offsets for times: `series`, `unit`, `time_ns`, `value`."""
    return points.with_columns(pl.col("time_ns") - origin_ns).select(list(_POINTS)).cast(_POINTS)


def no_points() -> pl.DataFrame:
    """No counter."""
    return pl.DataFrame(schema=_POINTS)


def summed_range(segments: pl.DataFrame, from_ns: int, to_ns: int) -> pl.DataFrame:
    """Whose time it was in `[from_ns, to_ns)`: `stage`, `self_ns`, `share`, the longest first.

    Exact: segments are cut at the ends of the range, and each nanosecond of a segment is counted where it lies.
    """
    start = pl.max_horizontal("start_ns", pl.lit(from_ns))
    end = pl.min_horizontal("end_ns", pl.lit(to_ns))
    inside = segments.select("stage", self_ns=end - start).filter(pl.col("self_ns") > 0)
    by_stage = inside.group_by("stage").agg(pl.col("self_ns").sum()).sort("self_ns", "stage", descending=[True, False])
    return by_stage.with_columns(share=pl.col("self_ns") / pl.col("self_ns").sum())


def longest_row(segments: pl.DataFrame, stage: str | None) -> int | None:
    """The row that owns the most time of a stage: the proof; None without one."""
    if stage is None:
        return None
    owned = segments.filter(pl.col("stage") == stage).group_by("row").agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    return None if owned.is_empty() else owned.sort("end_ns", "row", descending=[True, False])["row"][0]


def late_rank(waits: pl.DataFrame) -> dict[str, Any] | None:
    """Whom the ranks of a step waited for longest: `culprit_rank`, `culprit_stage`, `culprit_operation` (the most of
    it) and `wait_ns` of all; None where nobody can be named.

    `waits` is what `queries/explore/step_waits_of.sql` returns.
    """
    named = waits.filter(pl.col("culprit_rank").is_not_null(), pl.col("wait_ns") > 0)
    if named.is_empty():
        return None
    by_rank = named.group_by("culprit_rank").agg(pl.col("wait_ns").sum())
    rank, wait_ns = by_rank.sort("wait_ns", "culprit_rank", descending=[True, False]).row(0)
    doing = named.filter(culprit_rank=rank).group_by("culprit_stage", "culprit_operation").agg(pl.col("wait_ns").sum())
    most = doing.sort("wait_ns", "culprit_stage", "culprit_operation", descending=[True, False, False])
    return most.row(0, named=True) | {"culprit_rank": rank, "wait_ns": wait_ns}


def late_row(bars: pl.DataFrame, segments: pl.DataFrame, rank: int, stage: str | None) -> int | None:
    """The row of a rank's lane that owns the most time of a stage, else the lane itself; None without the lane."""
    lane = bars.filter(pl.col("depth") == 0, pl.col("label").str.contains(rf"^rank {rank}( |$)"))
    if lane.is_empty():
        return None
    first, last = lane.select("row", "last_row").row(0)
    inside = segments.filter(pl.col("row") >= first, pl.col("row") < last)
    found = longest_row(inside, stage)
    return int(first) if found is None else found


def equal_table(bars: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """The rows of a timeline as a table: what is drawn, in figures."""
    owned = segments.group_by("row").agg(owned_ns=(pl.col("end_ns") - pl.col("start_ns")).sum())
    marked = {
        "failed": pl.col("is_error"),
        "parent did not arrive": pl.col("is_orphan"),
        "clock corrected": pl.col("shift_ns") != 0,
    }
    said = [pl.when(is_so).then(pl.lit(word)) for word, is_so in marked.items()]
    own = pl.when(pl.col("note") != "").then("note")
    return (
        bars.join(owned, on="row", how="left")
        .sort("row")
        .select(
            pl.col("depth") + 1,
            pl.col("label").alias("row"),
            pl.col("stage").fill_null(UNATTRIBUTED),
            "owner",
            pl.col("start_ns").alias("starts after (ns)"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("lasts (ns)"),
            pl.col("owned_ns").fill_null(0).alias("owns (ns)"),
            pl.concat_str(*said, own, separator=", ", ignore_nulls=True).alias("marks"),
            "span_id",
        )
        .rename({"depth": "level", "span_id": "span"})
    )
