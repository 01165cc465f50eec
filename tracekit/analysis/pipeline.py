"""Pipeline stages that work longer than the others: the cut of the model, not a bad rank."""

from __future__ import annotations

import polars as pl


def with_heaviness(stages: pl.DataFrame, *, step_share: float) -> pl.DataFrame:
    """The rows of `stragglers/pipeline_stages` with the column `is_heavy`.

    A stage is heavy that computes more than `step_share` of the median step longer than the typical stage of its job.
    """
    beyond_ns = pl.col("compute_ns") - pl.col("typical_ns")
    return stages.with_columns(is_heavy=beyond_ns > step_share * pl.col("median_step_ns"))
