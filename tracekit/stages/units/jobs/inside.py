"""Inside steps: compute against what a typical rank of the same role needs for it."""

from __future__ import annotations

import polars as pl

COMPUTE, SLOW = "step.compute", "step.slow_compute"


def with_slow_compute(step_stages: pl.DataFrame, spans: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """Step stages with compute above the reference of its role as `step.slow_compute`; sums stay as they are.

    The reference is the median over the ranks of a pipeline stage of their medians over steps (of two ranks the
    faster one), as a ledger of steps defines it: ideal compute is the smaller of the two.
    """
    compute = step_stages.filter(pl.col("stage") == COMPUTE)
    if compute.is_empty():
        return step_stages
    roles = processes.select("resource_id", "pipeline_stage")
    whose = (
        spans.filter(pl.col("phase") == "step")
        .select("span_id", "resource_id", "rank")
        .unique("span_id")
        .join(roles, on="resource_id", how="left")
    )
    known = compute.join(whose, on="span_id", how="left")
    references = (
        known.group_by("pipeline_stage", "rank")
        .agg(pl.col("self_ns").quantile(0.5, "lower"))
        .group_by("pipeline_stage")
        .agg(reference_ns=pl.col("self_ns").quantile(0.5, "lower").cast(pl.Int64))
    )
    judged = known.join(references, on="pipeline_stage", how="left", nulls_equal=True)
    ideal = judged.with_columns(self_ns=pl.min_horizontal("self_ns", "reference_ns"), whole_ns="self_ns")
    slow = ideal.with_columns(stage=pl.lit(SLOW), self_ns=pl.col("whole_ns") - pl.col("self_ns"))
    columns = step_stages.columns
    parts = [step_stages.filter(pl.col("stage") != COMPUTE), ideal.select(columns), slow.select(columns)]
    together = pl.concat([part.cast(step_stages.schema) for part in parts])
    return together.group_by("span_id", "stage", maintain_order=True).agg(pl.col("self_ns").sum())
