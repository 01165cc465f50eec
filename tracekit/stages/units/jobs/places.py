"""The processes of each attempt: when they started, when they trained, how many accelerators each stands for."""

from __future__ import annotations

import polars as pl

from tracekit.stages.units.jobs.extremes import least
from tracekit.stages.units.jobs.records import TRAINER_PHASES

PLACE = ["attempt", "rank"]
_PREPARATION = ("init", "load")
_MOST_OF_A_PROCESS = 256


def places(spans: pl.DataFrame) -> pl.DataFrame:
    """One row a process of an attempt.

    Columns: `attempt`, `rank`, `host`, `weight` (accelerators that it stands for), `process_ns` (null where no span
    tells when it started), `prepared_ns` (end of start and restore), `load_ns` (time of restoring before the first
    step), `first_ns` and `last_ns` (first step or run, last end of anything), `own_steps` (step spans of its own),
    `is_error`, `exit_ns` (when it ended, null where no span says so), `is_closed` (whether a span of its life came).
    """
    trainers = spans.filter(pl.col("phase").is_in([*TRAINER_PHASES, "attempt"]), pl.col("rank").is_not_null())
    found = trainers.group_by(PLACE).agg(
        host=pl.col("host").drop_nulls().first(),
        init_ns=pl.col("start_ns").filter(pl.col("phase").is_in(["init", "attempt"])).min(),
        prepared_ns=pl.col("end_ns").filter(pl.col("phase").is_in(_PREPARATION)).max(),
        first_step_ns=pl.col("start_ns").filter(pl.col("phase") == "step").min(),
        run_ns=pl.col("start_ns").filter(pl.col("phase") == "run").min(),
        last_ns=pl.col("end_ns").max(),
        own_steps=(pl.col("phase") == "step").sum(),
        is_error=pl.col("is_error").any(),
        is_closed=pl.col("phase").is_in(["run", "attempt"]).any(),
        exit_ns=pl.col("end_ns").filter(pl.col("phase").is_in(["run", "attempt"]) | pl.col("is_error")).max(),
    )
    started = _with_provision(found, spans)
    first = pl.coalesce("first_step_ns", "run_ns")
    weighed = started.with_columns(first_ns=first, weight=pl.lit(_weight(found["rank"])))
    return _with_load(weighed, spans).drop("first_step_ns", "run_ns").sort(PLACE)


def _weight(ranks: pl.Series) -> int:
    """Accelerators of a process: ranks are counted by accelerator, so processes of eight are eight apart.

    What lies further apart than the accelerators of any host says nothing.
    """
    apart = ranks.cast(pl.Int64).filter(ranks >= 0).unique().sort().diff().drop_nulls()
    nearest = least(apart) or 1
    return nearest if nearest <= _MOST_OF_A_PROCESS else 1


def _with_provision(found: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """The start of each process: of its first span, else the end of what made its host ready."""
    ready = (
        spans.filter(pl.col("phase") == "provision", pl.col("host").is_not_null())
        .group_by("attempt", "host")
        .agg(ready_ns=pl.col("end_ns").max())
    )
    joined = found.join(ready, on=["attempt", "host"], how="left")
    # A start span that is left of two (start, compilation) may be the later one: the host was ready before.
    told = pl.min_horizontal("init_ns", "ready_ns")
    return joined.with_columns(process_ns=pl.when(pl.col("ready_ns").is_null()).then("init_ns").otherwise(told)).drop(
        "ready_ns", "init_ns"
    )


def _with_load(found: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """`load_ns`: the union of each process's restores, before its first step."""
    loads = (
        spans.filter(pl.col("phase") == "load", pl.col("rank").is_not_null())
        .join(found.select(*PLACE, "first_ns"), on=PLACE, how="left")
        .with_columns(end_ns=pl.min_horizontal("end_ns", pl.col("first_ns").fill_null(pl.col("end_ns"))))
        .filter(pl.col("end_ns") > pl.col("start_ns"))
    )
    return found.join(covered(loads, PLACE, "load_ns"), on=PLACE, how="left")


def covered(intervals: pl.DataFrame, key: list[str], name: str) -> pl.DataFrame:
    """The length of the union of intervals (`start_ns`, `end_ns`) by key, as column `name`."""
    ordered = intervals.sort("start_ns", "end_ns")
    before_ns = pl.col("end_ns").cum_max().shift(1).over(key)
    fresh_ns = pl.col("end_ns") - pl.max_horizontal("start_ns", before_ns.fill_null(pl.col("start_ns")))
    return ordered.with_columns(fresh_ns.clip(lower_bound=0).alias(name)).group_by(key).agg(pl.col(name).sum())
