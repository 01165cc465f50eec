"""Which stages made late requests late: every miss shared to stages, so that the shares sum to the misses.

A late request is compared with the median time of each stage in good requests of its bin: the same service, name and
model, input and output tokens in the same powers of two. A bin without good requests is compared with those of the
same input tokens, then of the same population, then with all.
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis.requests.normal_times import register_normals
from tracekit.analysis.temporary import create_table, rows

INTRINSIC = "intrinsic"
"""Stand-in for a stage: no stage was above its normal, or nothing good is there to compare with."""

LOST_SCHEMA = {
    "stage": pl.String,
    "owner": pl.String,
    "misses": pl.Int64,
    "late_ttft": pl.Int64,
    "late_tpot": pl.Int64,
    "late_e2e": pl.Int64,
    "exact_misses": pl.Float64,
    "would_be_good": pl.Int64,
}
_BUCKETS = ("late_ttft", "late_tpot", "late_e2e")


def lost_by_stage(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row a stage (LOST_SCHEMA), most misses first; reads the table `judged_requests` of the cursor.

    `exact_misses` are the shares; `misses` and its columns by bucket are whole numbers that sum to the late requests
    of each bucket: every share rounded down, and what is left to those with the largest remainders.
    `would_be_good` is the counterfactual: late requests that would meet every term without the excess of this stage.
    It does not sum.
    """
    create_table(cursor, "late_terms", "goodput/late_terms", {})
    register_normals(cursor)
    create_table(cursor, "goodput_excesses", "goodput/excesses", {})
    lost = rows(cursor, "goodput/lost_by_stage")
    if lost.is_empty():
        return pl.DataFrame(schema=LOST_SCHEMA)
    whole = pl.concat(_whole(lost.filter(bucket=bucket)) for bucket in _BUCKETS)
    stages = whole.group_by("stage").agg(
        pl.col("misses", "would_be_good", "share_sum").sum(),
        *(pl.col("misses").filter(pl.col("bucket") == bucket).sum().alias(bucket) for bucket in _BUCKETS),
    )
    owners = rows(cursor, "tail/stage_owners", {"stages": stages["stage"].to_list()}).select("stage", "owner")
    owned = stages.join(owners, on="stage", how="left").with_columns(
        owner=pl.when(pl.col("stage") == INTRINSIC).then(pl.lit("nobody")).otherwise("owner")
    )
    named = owned.rename({"share_sum": "exact_misses"}).sort("exact_misses", "stage", descending=[True, False])
    return named.select(pl.col(name).cast(kind) for name, kind in LOST_SCHEMA.items())


def largest_remainders(shares: np.ndarray) -> np.ndarray:
    """Whole numbers (int64) that sum to the rounded sum of the shares, none further than one from its share."""
    floors = np.floor(shares + 1e-9).astype(np.int64)
    left = round(float(shares.sum())) - int(floors.sum())
    # A stable order decides between equal remainders: the larger share, which stands first, gets it.
    order = np.argsort(-(shares - floors), kind="stable")
    floors[order[:left]] += 1
    return floors


def _whole(lost: pl.DataFrame) -> pl.DataFrame:
    shares = lost["share_sum"].to_numpy()
    return lost.with_columns(pl.Series("misses", largest_remainders(shares), dtype=pl.Int64))
