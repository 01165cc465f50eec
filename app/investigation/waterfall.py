"""From the operations of traces to the bars and segments of a timeline. Pure: frames in, frames out."""

from __future__ import annotations

import polars as pl

from investigation.tree import in_tree_order
from tracekit.schema import UNATTRIBUTED

_OBSERVED = "observed"


def trace_rows(operations: pl.DataFrame, spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bars and segments of a trace: a row an operation, in tree order.

    `operations` is what `tracekit.Store.operations` returns, `spans` who sent the spans of the trace and when they
    say they were (`queries/explore/trace_spans.sql`). Times become offsets from the earliest start. Bars have `row`,
    `depth`, `last_row` (the row behind the subtree), `label`, `sender`, `start_ns`, `end_ns`, `stage`, `owner`,
    `note`, `span_id` (null for an operation without a span of its own), `parent`, `is_virtual` (no span of its own),
    `is_error`, `is_orphan` (its parent did not arrive) and `shift_ns` (what was added to correct its clock).
    Segments are what rows own: `row`, `start_ns`, `end_ns`, `stage`, `note`; those of a request do not overlap.
    """
    origin_ns = operations["start_ns"].min() or 0
    ordered = in_tree_order(_nodes(operations))
    return _bars(ordered, spans, origin_ns), _segments(ordered, origin_ns)


def step_rows(
    ranks: pl.DataFrame, operations: pl.DataFrame, spans: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bars and segments of a training step, as those of `trace_rows`: a lane a rank, its operations below it.

    `ranks` has `rank`, `host_name`, `root_span_id` (the step span), `start_ns` and `end_ns`; `operations` and `spans`
    are those of their traces. The lane of a rank is the row of its step span, in the order of ranks. Times become
    offsets from the start of the first rank.
    """
    origin_ns = ranks["start_ns"].min() or 0
    inside = _below_the_steps(_with_every_step(_nodes(operations), ranks), _lanes(ranks))
    bars = _bars(inside, _no_spans() if spans is None else spans, origin_ns)
    lanes = bars.select(pl.col("span_id").alias("node")).join(
        _lanes(ranks), on="node", how="left", maintain_order="left"
    )
    is_lane = pl.col("depth") == 0
    bars = bars.with_columns(
        label=pl.when(is_lane).then(lanes["lane"]).otherwise("label"),
        owner=pl.when(is_lane).then(pl.lit("the whole step")).otherwise("owner"),
        stage=pl.col("stage").fill_null(UNATTRIBUTED),
        note=pl.col("note").fill_null(""),
    )
    return bars, _segments(inside.with_columns(_doing()), origin_ns)


def _lanes(ranks: pl.DataFrame) -> pl.DataFrame:
    """A lane a step span, in the order of ranks: `node`, `place`, `lane` (its label)."""
    host = pl.concat_str(pl.lit(" · "), "host_name").fill_null("")
    by_rank = ranks.sort("rank", "start_ns", "root_span_id").with_row_index("place", offset=1)
    return by_rank.select(
        pl.col("root_span_id").alias("node"),
        pl.col("place").cast(pl.Int64),
        pl.concat_str(pl.lit("rank "), "rank", host).alias("lane"),
    ).unique("node", keep="first", maintain_order=True)


def _with_every_step(nodes: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The nodes, and one for each step span that is not among them: its rank has a lane all the same."""
    ids = {"node": "root_span_id", "span_id": "root_span_id"}
    steps = ranks.select("start_ns", "end_ns", **ids, label=pl.lit(""), is_virtual=pl.lit(value=True))
    missing = steps.join(nodes.select("node"), on="node", how="anti")
    return pl.concat([nodes, missing.unique("node", keep="first")], how="diagonal")


def _below_the_steps(nodes: pl.DataFrame, lanes: pl.DataFrame) -> pl.DataFrame:
    """The step spans as roots, and what lies below each, in tree order."""
    is_lane = pl.col("place").is_not_null()
    placed = nodes.join(lanes.select("node", "place"), on="node", how="left").with_columns(
        parent=pl.when(is_lane).then(None).otherwise("parent"), is_lane=is_lane, place=pl.col("place").fill_null(0)
    )
    # Trees that are no step's come first (place 0) and go.
    ordered = in_tree_order(placed)
    in_lane = pl.when(pl.col("depth") == 0).then("is_lane").forward_fill()
    first_row = pl.col("row").min()
    kept = ordered.filter(in_lane)
    return kept.with_columns(pl.int_range(pl.len()).alias("row"), pl.col("last_row") - first_row).drop("is_lane")


def _bars(ordered: pl.DataFrame, spans: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """Labels that say who sent a span where that is not its parent's sender, and what is odd about it."""
    senders = spans.select(
        pl.col("span_id").alias("node"),
        pl.coalesce(pl.format("rank {}", "rank"), "service_name").alias("sender"),
        pl.col("start_ns").alias("said_ns"),
        (pl.col("status_code") == "ERROR").alias("is_error"),
    )
    above = senders.select(pl.col("node").alias("parent"), pl.col("sender").alias("sender_above"))
    lost = ordered.filter("is_virtual", pl.col("span_id").is_not_null()).select(pl.col("node").alias("parent"))
    found = (
        ordered.join(senders, on="node", how="left")
        .join(above, on="parent", how="left")
        .join(lost.with_columns(is_orphan=pl.lit(value=True)), on="parent", how="left")
        .sort("row")
        .with_columns(pl.col("is_error", "is_orphan").fill_null(value=False))
    )
    is_new = pl.col("sender").is_not_null() & pl.col("sender").ne_missing(pl.col("sender_above"))
    sender = pl.when(is_new).then(pl.format(" · {}", "sender")).otherwise(pl.lit(""))
    failed = pl.when("is_error").then(pl.lit("✕ ")).otherwise(pl.lit(""))
    shift_ns = pl.when("is_virtual").then(0).otherwise(pl.col("start_ns") - pl.col("said_ns")).fill_null(0)
    return found.with_columns(
        pl.concat_str(failed, "label", sender).alias("label"),
        shift_ns.alias("shift_ns"),
        pl.col("start_ns", "end_ns") - origin_ns,
    ).drop("sender_above", "said_ns", "owned")


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


def _doing() -> pl.Expr:
    """What a segment of a rank belongs to: the operation, and where that is known from."""
    detail = pl.when(pl.col("note") != "").then(pl.format(", {}", "note")).otherwise(pl.lit(""))
    return pl.concat_str("label", detail).alias("note")


def _no_spans() -> pl.DataFrame:
    kinds = {"span_id": pl.String, "service_name": pl.String, "rank": pl.Int32, "status_code": pl.String}
    return pl.DataFrame(schema=kinds | {"start_ns": pl.Int64})
