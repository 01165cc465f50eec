"""How far the units with a value swing apart from the others by themselves: what chance makes of whose a stage is.

A queue of one host grows and shrinks without a fault, and for a minute all requests of that host are long together. As
independent units they would be certain to differ. So in every block of time of the baseline the units with the value
are compared with the others of the same block, and the variance of these differences beyond what single units make is
taken as a random effect of time (the moment estimate of DerSimonian and Laird 1986): with v_b the variance of the
difference of block b by its units, w_b = 1 / v_b and Q = sum of w_b (d_b - mean)^2 over B blocks,

    swing^2 = max(0, (Q - (B - 1)) / (sum w - sum w^2 / sum w)).
"""

from __future__ import annotations

import polars as pl

KEYS = ("dimension", "value", "stage")

FEWEST_BLOCKS, MOST_BLOCKS = 10, 24
"""Blocks of the time of the baseline: as long as the selection, but at least and at most so many."""

SWING_SCHEMA = {**dict.fromkeys(KEYS, pl.String), "swing": pl.Float64, "block_count": pl.UInt32}

_SUMS = ("unit_count", "log_sum", "log_square_sum")


def swing_frame(own: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """One row a value and stage (SWING_SCHEMA): the variance between blocks, and how many blocks show it.

    `own`: rows of the baseline by dimension, value, stage and block, with the sums of `log_ratio` and of its squares;
    `whole`: the same of all units by stage and block. Values that no two blocks can be judged by have no row.
    """
    paired = own.select(*KEYS, "block", *_SUMS).join(whole.select("stage", "block", *_SUMS), on=["stage", "block"],
                                                     suffix="_all")  # fmt: skip
    apart = paired.with_columns(
        (pl.col(f"{name}_all") - pl.col(name)).alias(f"{name}_others") for name in _SUMS
    ).filter(pl.col("unit_count") > 0, pl.col("unit_count_others") > 0)
    spread = _within("") / pl.col("unit_count") + _within("_others") / pl.col("unit_count_others")
    differences = apart.with_columns(
        difference=pl.col("log_sum") / pl.col("unit_count") - pl.col("log_sum_others") / pl.col("unit_count_others"),
        weight=1 / spread,
    ).filter(pl.col("weight").is_finite())
    summed = differences.group_by(*KEYS, maintain_order=True).agg(
        block_count=pl.len(),
        weights=pl.col("weight").sum(),
        squares=(pl.col("weight") ** 2).sum(),
        scatter=(pl.col("weight") * (pl.col("difference") - _weighted_mean()) ** 2).sum(),
    )
    beyond = (pl.col("scatter") - (pl.col("block_count") - 1)) / (
        pl.col("weights") - pl.col("squares") / pl.col("weights")
    )
    return summed.filter(pl.col("block_count") > 1).select(
        *KEYS, swing=beyond.clip(lower_bound=0.0), block_count=pl.col("block_count").cast(pl.UInt32)
    )


def _weighted_mean() -> pl.Expr:
    return (pl.col("weight") * pl.col("difference")).sum() / pl.col("weight").sum()


def _within(suffix: str) -> pl.Expr:
    """Variance of single units inside their blocks, of all blocks together."""
    count, sums, squares = (pl.col(f"{name}{suffix}").cast(pl.Float64) for name in _SUMS)
    inside = (squares - sums**2 / count).clip(lower_bound=0.0).sum().over(KEYS)
    return inside / (count.sum() - pl.len()).over(KEYS)
