"""Work that few ranks do on a schedule, as rank 0 saves: usual for those who do it, whoever waits for it meanwhile."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.stragglers.culprits import LOST_SHARE
from tracekit.schema import JobStage

SCHEDULED_STAGES = (JobStage.CHECKPOINT_SAVE, JobStage.CUSTOM)
"""Stages that are planned by nature: saving, and evaluation or checks. A garbage collection is not."""

EVALUATION_SHARE = 0.05
"""Evaluation of one rank alone that can hold up the others for this share of the job is no schedule that is accepted
like saving is: the others could share it, or go on.
"""

_FEW = 0.5
"""Work that fewer than this share of the ranks of a role do in a step has no peers to be compared with in it."""

SCHEDULED_SCHEMA = {
    "job_id": pl.String,
    "rank": pl.Int64,
    "stage": pl.String,
    "operation": pl.String,
    "steps": pl.Int64,
    "first_step": pl.Int64,
    "last_step": pl.Int64,
    "own_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "lost_ns": pl.Int64,
    "share": pl.Float64,
}

_CELL = ["job_id", "attempt", "step", "rank", "stage"]


def with_usual(own: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Rows of a rank, step and stage with `usual_ns`: what scheduled work without peers usually takes the rank, else 0.

    own: `job_id`, `attempt`, `step`, `rank`, `role`, `stage`, `own_ns`. jobs: `job_id`, `rank_count`, `wall_ns`. Usual
    is the median of the steps in which the rank did it, the lower of two: a rank that saved once is no measure for
    itself, and not slow. What one rank alone evaluates at length (`EVALUATION_SHARE`) is usual to nobody.
    """
    role = ["job_id", "attempt", "step", "role"]
    sizes = own.group_by(role).agg(size=pl.col("rank").n_unique())
    doing = (pl.col("own_ns") > 0).sum().over(*role, "stage")
    is_alone = pl.col("stage").is_in(SCHEDULED_STAGES) & (pl.col("own_ns") > 0) & (doing < _FEW * pl.col("size"))
    is_alone &= ~_is_costly_evaluation()
    whose = ["job_id", "rank", "stage"]
    return (
        own.join(sizes, on=role, maintain_order="left")
        .join(jobs.select("job_id", "rank_count", "wall_ns"), on="job_id", maintain_order="left")
        .with_columns(is_alone=is_alone)
        .with_columns(
            usual_ns=pl.when("is_alone").then(
                pl.col("own_ns").filter(pl.col("own_ns") > 0).quantile(0.5, "lower").over(whose).cast(pl.Int64)
            )
        )
        .with_columns(usual_ns=pl.min_horizontal(pl.col("usual_ns").fill_null(0), pl.col("own_ns")))
        .drop("size", "is_alone", "rank_count", "wall_ns")
    )


def _is_costly_evaluation() -> pl.Expr:
    """Whether one rank of the job alone evaluates, long enough to hold up the others for a part of it."""
    doing = pl.col("rank").filter(pl.col("own_ns") > 0).n_unique().over("job_id", "stage")
    could_hold_ns = pl.col("own_ns").sum().over("job_id", "stage") * (pl.col("rank_count").cast(pl.Int64) - 1)
    is_large = could_hold_ns >= EVALUATION_SHARE * pl.col("wall_ns")
    return (pl.col("stage") == JobStage.CUSTOM) & (doing == 1) & is_large


def scheduled(usual: pl.DataFrame, held: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """What scheduled work cost, usual as it was, a row a rank and stage (SCHEDULED_SCHEMA), the costliest first.

    usual: rows of `with_usual`. held: `job_id`, `attempt`, `step`, `rank`, `stage`, `operation`, `waited_ns`. Of the
    waiting for a longer one the usual part counts.
    """
    cells = usual.filter(pl.col("usual_ns") > 0)
    waits = held.group_by(_CELL).agg(
        pl.col("waited_ns").sum(), operation=pl.col("operation").sort_by("waited_ns", "operation").last()
    )
    part_ns = pl.col("waited_ns").fill_null(0).cast(pl.Int128) * pl.col("usual_ns") // pl.col("own_ns")
    costs = (
        cells.join(waits, on=_CELL, how="left")
        .with_columns(waited_ns=part_ns.cast(pl.Int64))
        .group_by("job_id", "rank", "stage")
        .agg(
            operation=pl.col("operation").drop_nulls().mode().sort().first(),
            steps=pl.struct("attempt", "step").n_unique(),
            first_step=pl.col("step").min(),
            last_step=pl.col("step").max(),
            own_ns=pl.col("usual_ns").sum(),
            waited_ns=pl.col("waited_ns").sum(),
        )
        .join(jobs.select("job_id", "wall_ns"), on="job_id")
        .with_columns(lost_ns=pl.col("own_ns") + pl.col("waited_ns"))
        .with_columns(share=pl.col("lost_ns") / pl.col("wall_ns"))
    )
    return (
        costs.filter(pl.col("share") >= LOST_SHARE)
        .sort("lost_ns", "job_id", "rank", "stage", descending=[True, False, False, False])
        .select(pl.col(name).cast(kind) for name, kind in SCHEDULED_SCHEMA.items())
    )
