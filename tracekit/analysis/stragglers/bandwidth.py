"""What collectives moved, how fast, and how much of it compute hid."""

from __future__ import annotations

import polars as pl

BANDWIDTH_SCHEMA = {
    "job_id": pl.String,
    "collective_name": pl.String,
    "member_count": pl.Int64,
    "group_count": pl.Int64,
    "instance_count": pl.Int64,
    "bytes": pl.Int64,
    "transfer_ns": pl.Int64,
    "algorithm_gb_per_s": pl.Float64,
    "bus_gb_per_s": pl.Float64,
    "wait_ns": pl.Int64,
    "exposed_ns": pl.Int64,
    "hidden_ns": pl.Int64,
}


def bandwidths(transfers: pl.DataFrame) -> pl.DataFrame:
    """One row a job, kind of collective and size of group (BANDWIDTH_SCHEMA), the most exposed first.

    transfers: as of `links.slow_links`. `bytes` and `transfer_ns` are of a typical collective, from the arrival of the
    last rank to the end on the last; `bytes` as the spans tell them. The algorithm bandwidth is their quotient in
    decimal GB/s (bytes a nanosecond), null without bytes; the bus bandwidth has the factor of NCCL's tests: 2(n-1)/n
    for an all-reduce, (n-1)/n for reduce-scatter, all-gather and all-to-all, else 1. `wait_ns`, `exposed_ns` and
    `hidden_ns` are sums over ranks.
    """
    each = transfers.with_columns(
        each_bytes=pl.col("bytes") / pl.col("instance_count"),
        each_ns=pl.col("transfer_ns") / pl.col("instance_count"),
    )
    rows = each.group_by("job_id", "collective_name", "member_count").agg(
        group_count=pl.col("collective_group").n_unique(),
        instance_count=pl.col("instance_count").sum(),
        bytes=pl.col("each_bytes").median().round().cast(pl.Int64),
        algorithm_gb_per_s=(pl.col("each_bytes") / pl.col("each_ns")).filter(pl.col("each_ns") > 0).median(),
        hidden_ns=pl.col("all_transfer_ns").sum() - pl.col("exposed_ns").sum(),
        transfer_ns=pl.col("each_ns").median().round().cast(pl.Int64),
        **{name: pl.col(name).sum() for name in ("wait_ns", "exposed_ns")},
    )
    return (
        rows.with_columns(bus_gb_per_s=pl.col("algorithm_gb_per_s") * _bus_factor())
        .sort("exposed_ns", "job_id", "collective_name", "member_count", descending=[True, False, False, False])
        .select(pl.col(name).cast(kind) for name, kind in BANDWIDTH_SCHEMA.items())
    )


def _bus_factor() -> pl.Expr:
    kind = pl.col("collective_name").str.to_lowercase().str.replace("^nccl:", "").str.replace_all("[_ -]", "")
    others = (pl.col("member_count") - 1) / pl.col("member_count")
    return (
        pl.when(kind == "allreduce")
        .then(2 * others)
        .when(kind.is_in(["reducescatter", "allgather", "alltoall"]))
        .then(others)
        .otherwise(1.0)
    )
