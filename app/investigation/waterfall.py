"""From the operations of traces to the bars and segments of a timeline. Pure: frames in, frames out."""

from __future__ import annotations

import polars as pl

from investigation.tree import in_tree_order
from tracekit.schema import UNATTRIBUTED

_OBSERVED = "observed"


def trace_rows(operations: pl.DataFrame, spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bars and segments of a trace for `tracekit.charts.timeline`: a row an operation, in tree order.

    `operations` is what `tracekit.Store.operations` returns, `spans` who sent the spans of the trace
    (`queries/explore/trace_spans.sql`). Times become offsets from the earliest start. Bars keep
    `span_id` (null for an operation without a span of its own) and `parent`.
    """
    origin_ns = operations["start_ns"].min() or 0
    ordered = in_tree_order(_nodes(operations))
    bars = _labelled(ordered, spans).with_columns(pl.col("start_ns", "end_ns") - origin_ns)
    return bars, _segments(ordered, origin_ns)


def _labelled(nodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Labels that say who sent a span where that is not its parent's sender, and which spans failed."""
    rank = pl.format("rank {}", "rank")
    senders = spans.select(
        pl.col("span_id").alias("node"), "status_code", pl.coalesce(rank, "service_name").alias("sender")
    )
    above = senders.select(pl.col("node").alias("parent"), pl.col("sender").alias("sender_above"))
    found = nodes.join(senders, on="node", how="left").join(above, on="parent", how="left").sort("row")
    is_new = pl.col("sender").is_not_null() & pl.col("sender").ne_missing(pl.col("sender_above"))
    sender = pl.when(is_new).then(pl.format(" · {}", "sender")).otherwise(pl.lit(""))
    failed = pl.when(pl.col("status_code") == "ERROR").then(pl.lit("✕ ")).otherwise(pl.lit(""))
    return found.with_columns(pl.concat_str(failed, "label", sender).alias("label")).drop("sender", "sender_above")


def _nodes(operations: pl.DataFrame) -> pl.DataFrame:
    """Operations as nodes of a tree; one without a span is a leaf under the span that it was found in."""
    numbered = operations.with_row_index("number")
    has_id = pl.col("span_id").is_not_null()
    return numbered.select(
        pl.when(has_id).then("span_id").otherwise(pl.format("part {}", "number")).alias("node"),
        pl.col("parent_span_id").alias("parent"),
        "span_id",
        pl.col("operation").alias("label"),
        "start_ns",
        "end_ns",
        "stage",
        "owner",
        (pl.col("source") != "span").alias("is_virtual"),
        _note().alias("note"),
        "owned",
    )


def _note() -> pl.Expr:
    """Where a row comes from, and how sure it is, where that is not simply a span."""
    described = pl.format("{}, from its {}", "quality", "source")
    return (
        pl.when((pl.col("source") == "span") & (pl.col("quality") == _OBSERVED)).then(pl.lit("")).otherwise(described)
    )


def _segments(ordered: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    owned = ordered.select("row", "stage", "note", "owned").explode("owned").drop_nulls("owned").unnest("owned")
    return owned.select("row", pl.col("start_ns", "end_ns") - origin_ns, "stage", "note").sort("row", "start_ns")


def step_rows(ranks: pl.DataFrame, operations: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bars and segments of a training step for `tracekit.charts.timeline`: a row a rank.

    `ranks` has `rank`, `host_name`, `root_span_id` (the step span), `start_ns` and `end_ns`;
    `operations` are those of their traces. Segments are what the operations below each step span own.
    Times become offsets from the start of the first rank.
    """
    origin_ns = ranks["start_ns"].min() or 0
    rows = (
        ranks.sort("rank", "start_ns", "root_span_id").with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    )
    host = pl.concat_str(pl.lit(" · "), "host_name").fill_null("")
    bars = rows.select(
        "row",
        pl.concat_str(pl.lit("rank "), "rank", host).alias("label"),
        pl.lit(0).alias("depth"),
        pl.col("start_ns", "end_ns") - origin_ns,
        pl.lit(UNATTRIBUTED).alias("stage"),
        pl.lit("the whole step").alias("owner"),
        pl.lit(value=False).alias("is_virtual"),
        pl.lit("").alias("note"),
    )
    nodes = _nodes(operations)
    inside = _below(nodes, rows.select("row", pl.col("root_span_id").alias("node")))
    return bars, _segments(nodes.join(inside, on="node").with_columns(_doing()), origin_ns)


def _doing() -> pl.Expr:
    """What a segment of a rank belongs to: the operation, and where that is known from."""
    detail = pl.when(pl.col("note") != "").then(pl.format(", {}", "note")).otherwise(pl.lit(""))
    return pl.concat_str("label", detail).alias("note")


def _below(nodes: pl.DataFrame, tops: pl.DataFrame) -> pl.DataFrame:
    """Every node that is one of the `tops` or below one, with the `row` of that top; works level by level."""
    level, levels = tops.join(nodes.select("node"), on="node"), []
    while level.height:
        levels.append(level.select("node", "row"))
        above = level.select(pl.col("node").alias("parent"), "row")
        level = nodes.select("node", "parent").join(above, on="parent")
    return pl.concat([tops.select("node", "row").clear(), *levels]).unique(["node"], maintain_order=True)
