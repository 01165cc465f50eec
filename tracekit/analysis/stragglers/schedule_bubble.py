"""How much of the waiting in a pipeline is the schedule's own: it is there in every step, whoever is slow."""

from __future__ import annotations

import polars as pl

USUAL_QUANTILE = 0.1
"""What a rank waits in nine of ten steps, nobody being slow, its schedule makes it wait."""

PAIR_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "culprit_step": pl.Int64,
    "culprit_rank": pl.Int64,
    "waited_ns": pl.Int64,
}

_CULPRIT = ["job_id", "attempt", "culprit_step", "culprit_rank"]
_UNIT = ["job_id", "attempt", "step", "rank"]


def bubbles(pairs: pl.DataFrame, excess: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Waiting of all ranks in pipelines that their schedule explains: `job_id`, `attempt`, `step`, `bubble_ns`.

    pairs: PAIR_SCHEMA. excess: `job_id`, `attempt`, `step`, `rank`, `excess_ns`: how much longer than usual ranks took,
    in work or in a transfer; as much of each wait for them is not the schedule's. steps: `job_id`, `attempt`, `step`,
    `rank` of all parts of steps; one without waiting waited nothing.
    """
    slow = excess.group_by("job_id", "attempt", culprit_step="step", culprit_rank="rank").agg(pl.col("excess_ns").sum())
    left = (
        pairs.join(slow, on=_CULPRIT, how="left")
        .with_columns(left_ns=pl.col("waited_ns") - pl.min_horizontal("waited_ns", pl.col("excess_ns").fill_null(0)))
        .group_by(_UNIT)
        .agg(pl.col("left_ns").sum())
    )
    every = steps.select(_UNIT).join(left, on=_UNIT, how="left").with_columns(pl.col("left_ns").fill_null(0))
    usual_ns = pl.col("left_ns").quantile(USUAL_QUANTILE, "lower").over("job_id", "rank").cast(pl.Int64)
    return every.group_by("job_id", "attempt", "step").agg(bubble_ns=pl.min_horizontal("left_ns", usual_ns).sum())
