"""Pipeline stages that work longer than the others: the cut of the model, not a bad rank."""

from __future__ import annotations

import polars as pl


def is_whole_stage(key: list[str]) -> pl.Expr:
    """Whether all ranks of the row's pipeline stage are among the rows with the same `key`.

    Never where the stage is the whole job, one rank, or just what runs on one host: then the host, or the
    rank, is as good an explanation.
    """
    stage = [*key, "pipeline_stage"]
    is_all_slow = pl.len().over(stage) >= pl.col("stage_rank_count")
    is_part_of_many = pl.col("stage_rank_count").is_between(2, pl.col("rank_count") - 1)
    is_one_host = (pl.col("host").n_unique().over(stage) == 1) & (
        pl.col("host_rank_count") == pl.col("stage_rank_count")
    )
    return pl.col("pipeline_stage").is_not_null() & is_all_slow & is_part_of_many & ~is_one_host


def with_heaviness(stages: pl.DataFrame, *, step_share: float) -> pl.DataFrame:
    """The rows of `stragglers/pipeline_stages` with the column `is_heavy`.

    A stage is heavy that computes more than `step_share` of the median step longer than the typical stage of its job.
    """
    beyond_ns = pl.col("compute_ns") - pl.col("typical_ns")
    return stages.with_columns(is_heavy=beyond_ns > step_share * pl.col("median_step_ns"))
