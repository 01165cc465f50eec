"""Pipeline stages that work longer than the others: the cut of the model, not a bad rank."""

from __future__ import annotations

import polars as pl


def with_heaviness(stages: pl.DataFrame, *, step_share: float) -> pl.DataFrame:
    """The rows of `stragglers/pipeline_stages` with the column `is_heavy`.

    A stage is heavy that computes more than `step_share` of the median step longer than the typical stage of its job.
    """
    beyond_ns = pl.col("compute_ns") - pl.col("typical_ns")
    return stages.with_columns(is_heavy=beyond_ns > step_share * pl.col("median_step_ns"))


def heavy_excess(stages: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """How much longer than those of the typical stage the ranks of heavy stages compute in each step.

    stages: rows of `with_heaviness`. ranks: `job_id`, `attempt`, `step`, `rank`, `role`. Columns: those but the role,
    and `excess_ns`.
    """
    heavy = stages.filter("is_heavy").select(
        "job_id",
        pl.col("pipeline_stage").cast(pl.String).alias("role"),
        excess_ns=pl.col("compute_ns") - pl.col("typical_ns"),
    )
    return ranks.join(heavy, on=["job_id", "role"]).select("job_id", "attempt", "step", "rank", "excess_ns")
