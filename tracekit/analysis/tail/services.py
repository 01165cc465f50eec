"""Which service, which call between two: the growth of stages put together above them.

A slow network at a service, or a service that accepts calls late, leaves its own time unchanged: the time appears in
the edges that lead to it. A service is therefore ranked by

    sure growth of its own stages + (sum of that of its edges) x (share of its edges that have grown)

where the share tells the service in the middle, all of whose edges have grown, from its neighbours, one of whose has.
"""

from __future__ import annotations

import polars as pl

from tracekit.analysis.tail.comparison import Comparison

SERVICE_SCHEMA = {
    "rank": pl.Int64,
    "service": pl.String,
    "score_ns": pl.Int64,
    "own_sure_ns": pl.Int64,
    "own_excess_ns": pl.Int64,
    "edges_sure_ns": pl.Int64,
    "edges_excess_ns": pl.Int64,
    "edge_count": pl.Int64,
    "grown_edge_count": pl.Int64,
}
EDGE_SCHEMA = {
    "service": pl.String,
    "callee": pl.String,
    "excess_ns": pl.Int64,
    "sure_ns": pl.Int64,
    "factor": pl.Float64,
    "factor_low": pl.Float64,
    "adjusted_p": pl.Float64,
    "has_grown": pl.Boolean,
}


def service_frames(comparison: Comparison, growth: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Services by rank (SERVICE_SCHEMA), and calls from one to another (EDGE_SCHEMA), the surest growth first.

    Times are nanoseconds of the mean unit of the selection, those of `growth`. Stages whose service is not known are in
    neither. Reads `tail_calls`.
    """
    placed = growth.join(comparison.rows("tail/stage_services"), on="stage").filter(pl.col("service").is_not_null())
    edges = placed.filter(pl.col("callee").is_not_null()).select(list(EDGE_SCHEMA))
    return ranked_services(placed.filter(pl.col("callee").is_null()), edges), edges


def ranked_services(own: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Services by rank, from rows of their own stages (`service`, `sure_ns`, `excess_ns`) and of edges."""
    nodes = own.group_by("service").agg(own_sure_ns=pl.col("sure_ns").sum(), own_excess_ns=pl.col("excess_ns").sum())
    ends = pl.concat([edges, edges.with_columns(service="callee")])
    around = ends.group_by("service").agg(
        edges_sure_ns=pl.col("sure_ns").sum(),
        edges_excess_ns=pl.col("excess_ns").sum(),
        edge_count=pl.len().cast(pl.Int64),
        grown_edge_count=(pl.col("sure_ns") > 0).sum().cast(pl.Int64),
    )
    joined = nodes.join(around, on="service", how="full", coalesce=True).with_columns(
        pl.exclude("service").fill_null(0)
    )
    coverage = pl.col("grown_edge_count") / pl.max_horizontal("edge_count", 1)
    scored = joined.with_columns(
        score_ns=(pl.col("own_sure_ns") + pl.col("edges_sure_ns") * coverage).round().cast(pl.Int64)
    )
    order = ["score_ns", "own_excess_ns", "service"]
    return (
        scored.sort(order, descending=[True, True, False])
        .with_row_index("rank", offset=1)
        .select(pl.col(name).cast(kind) for name, kind in SERVICE_SCHEMA.items())
    )
