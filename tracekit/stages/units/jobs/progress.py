"""How far each attempt came, where the next ones went back to, and when the kept part of it ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.stages.units.jobs.extremes import least, least_of, most, most_of


@dataclass(frozen=True, eq=False)
class Progress:
    """What one attempt made.

    first_step: number of its first step; made_step: of the last whole one; None without steps. `points` are known
    instants (`step`, `time_ns`): when that step was done, sorted. `saves` are the blocking parts of its saves
    (`step`, `start_ns`, `end_ns`). durable_step: last step of a save that was written for sure.
    """

    first_step: int | None
    made_step: int | None
    points: pl.DataFrame
    saves: pl.DataFrame
    durable_step: int | None
    last_ns: int | None

    def done_ns(self, step: int) -> tuple[int, bool] | None:
        """When a step and the save behind it were done, and whether that is told and not interpolated."""
        if self.points.is_empty():
            return None
        saved_ns = most(self.saves.filter(pl.col("step") == step)["end_ns"])
        if saved_ns is not None:
            return saved_ns, True
        numbers: NDArray[np.int64] = self.points["step"].to_numpy()
        times: NDArray[np.int64] = self.points["time_ns"].to_numpy()
        is_told = bool((numbers == step).any())
        base = int(times[0])
        return base + round(float(np.interp(step, numbers, times - base))), is_told


def progress_of(spans: pl.DataFrame) -> Progress:
    """The progress of one attempt from its spans, clocks aligned."""
    steps = _whole_steps(spans)
    sums = spans.filter(pl.col("phase") == "steps", pl.col("last_step").is_not_null())
    saves = _saves(spans)
    points = _points(steps, sums, saves)
    return Progress(
        first_step=least_of(least(steps["step"]), least(sums["first_step"]), _first_step(spans)),
        made_step=most_of(most(steps["step"]), most(sums["last_step"]), most(saves["step"])),
        points=points,
        saves=saves,
        durable_step=_durable(spans, saves),
        last_ns=most_of(*(most(frame["end_ns"]) for frame in (steps, sums, saves))),
    )


def kept_before(attempts: list[Progress]) -> list[int | None]:
    """For each attempt the first step number that a later one made again; None where nobody came after."""
    found: list[int | None] = []
    earliest: int | None = None
    for progress in reversed(attempts):
        found.append(earliest)
        earliest = least_of(earliest, progress.first_step)
    return found[::-1]


def _whole_steps(spans: pl.DataFrame) -> pl.DataFrame:
    """Steps that ended well on every rank that reports them: `step`, `start_ns`, `end_ns`."""
    reported = spans.filter(pl.col("phase") == "step", pl.col("step").is_not_null())
    return (
        reported.group_by("step")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max(), is_error=pl.col("is_error").any())
        .filter(~pl.col("is_error"))
        .drop("is_error")
        .sort("step")
    )


def _saves(spans: pl.DataFrame) -> pl.DataFrame:
    number = pl.coalesce("last_step", "step").alias("step")
    return (
        spans.filter(pl.col("phase") == "save")
        .select(number, "start_ns", "end_ns")
        .filter(pl.col("step").is_not_null())
        .group_by("step")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        .sort("step")
    )


def _points(steps: pl.DataFrame, sums: pl.DataFrame, saves: pl.DataFrame) -> pl.DataFrame:
    known = [
        steps.select("step", time_ns="end_ns"),
        sums.select(pl.col("first_step").alias("step") - 1, time_ns="start_ns"),
        sums.select(pl.col("last_step").alias("step"), time_ns="end_ns"),
        saves.select("step", time_ns="end_ns"),
    ]
    together = pl.concat([frame.drop_nulls() for frame in known])
    return together.group_by("step").agg(pl.col("time_ns").max()).sort("step")


def _first_step(spans: pl.DataFrame) -> int | None:
    """The step after the one that was restored, by who restored it."""
    restored = most(spans["restored_step"])
    return None if restored is None else restored + 1


def _durable(spans: pl.DataFrame, saves: pl.DataFrame) -> int | None:
    written = spans.filter(pl.col("phase") == "write")
    if written.height:
        return most(written.select(pl.coalesce("last_step", "step").alias("step"))["step"])
    return most(saves["step"])
