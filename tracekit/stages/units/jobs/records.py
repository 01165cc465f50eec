"""What is known of one training job: frames with the columns of `queries/jobs/<name>.sql`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

TRAINER_PHASES = ("init", "load", "run", "steps", "step", "save", "write", "custom")
"""Phases that processes of the job itself are in."""


@dataclass(frozen=True, eq=False)
class JobRecords:
    """All that arrived about one job, with the columns of `queries/jobs/<name>.sql`; times in nanoseconds."""

    job: str
    spans: pl.DataFrame
    processes: pl.DataFrame
    step_stages: pl.DataFrame
    events: pl.DataFrame
    grants: pl.DataFrame
    held: pl.DataFrame


def outside_steps() -> pl.Expr:
    """Spans that belong to no step: those inside steps are in the units of steps."""
    in_steps = pl.col("phase").is_in(["save", "write", "custom"]) & pl.col("step").is_not_null()
    return (pl.col("phase") != "step") & ~in_steps
