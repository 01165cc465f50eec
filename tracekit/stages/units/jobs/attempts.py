"""Which attempt of its job each span belongs to, told or not."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.stages.units.jobs.records import TRAINER_PHASES

WHOLE_JOB = ("job", "post")
"""Phases that belong to no attempt."""


@dataclass(frozen=True, eq=False)
class NumberedSpans:
    """The spans with `attempt` everywhere but in phases of the whole job; `is_inferred`: from timing, not told."""

    spans: pl.DataFrame
    is_inferred: bool


def number_attempts(spans: pl.DataFrame) -> NumberedSpans:
    """Give every span its attempt: as told by it, its process, its parent or its siblings, else by time.

    Where nobody tells attempts, or the same number is told of processes one after the other, a new attempt begins
    where a rank is there for the second time, or where a process repeats steps.
    """
    inside = spans.filter(~pl.col("phase").is_in(WHOLE_JOB))
    whole = spans.filter(pl.col("phase").is_in(WHOLE_JOB)).with_columns(attempt=pl.lit(None, dtype=pl.Int32))
    told = _from_relatives(inside)
    is_inferred = _is_untold(told)
    numbered = _by_cuts(inside, _cuts(inside)) if is_inferred else _by_time(told)
    return NumberedSpans(pl.concat([numbered, whole.select(numbered.columns)]), is_inferred=is_inferred)


def _is_untold(spans: pl.DataFrame) -> bool:
    if spans["attempt"].null_count() == spans.height:
        return True
    trainers = _trainers(spans).filter(pl.col("attempt").is_not_null())
    lives = trainers.group_by("attempt", "rank", "resource_id").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    follows = pl.col("start_ns") >= pl.col("end_ns").shift(1)
    again = lives.sort("start_ns").with_columns(again=follows.over("attempt", "rank", order_by="start_ns"))
    return bool(again["again"].fill_null(value=False).any())


def _trainers(spans: pl.DataFrame) -> pl.DataFrame:
    return spans.filter(pl.col("phase").is_in(TRAINER_PHASES), pl.col("rank").is_not_null())


def _from_relatives(spans: pl.DataFrame) -> pl.DataFrame:
    """Spans with the attempt of their parent, or the one that all of its other children tell."""
    told = spans.filter(pl.col("attempt").is_not_null())
    parents = told.select("trace_id", parent_span_id="span_id", of_parent="attempt").unique(
        ["trace_id", "parent_span_id"]
    )
    siblings = (
        told.filter(pl.col("parent_span_id").is_not_null())
        .group_by("trace_id", "parent_span_id")
        .agg(of_siblings=pl.col("attempt").unique())
        .filter(pl.col("of_siblings").list.len() == 1)
        .with_columns(pl.col("of_siblings").list.first())
    )
    key = ["trace_id", "parent_span_id"]
    joined = spans.join(parents, on=key, how="left").join(siblings, on=key, how="left")
    return joined.with_columns(attempt=pl.coalesce("attempt", "of_parent", "of_siblings")).drop(
        "of_parent", "of_siblings"
    )


def _by_time(spans: pl.DataFrame) -> pl.DataFrame:
    """What is left belongs to the first attempt that ends after its start."""
    told = spans.filter(pl.col("attempt").is_not_null())
    untold = spans.filter(pl.col("attempt").is_null()).drop("attempt").sort("start_ns")
    if untold.is_empty():
        return told
    ends = told.group_by("attempt").agg(until_ns=pl.col("end_ns").max()).sort("until_ns")
    found = untold.join_asof(ends, left_on="start_ns", right_on="until_ns", strategy="forward")
    last = ends["attempt"][-1]
    return pl.concat([told, found.with_columns(pl.col("attempt").fill_null(last)).select(told.columns)])


def _cuts(spans: pl.DataFrame) -> list[int]:
    """Times at which attempts but the first begin."""
    trainers = _trainers(spans)
    lives = trainers.group_by("resource_id", "rank").agg(pl.col("start_ns").min()).sort("start_ns")
    cuts: list[int] = []
    seen: set[int] = set()
    for rank, start_ns in lives.select("rank", "start_ns").iter_rows():
        if rank in seen:
            cuts.append(start_ns)
            seen = set()
        seen.add(rank)
    return sorted([*cuts, *_restarts_inside(trainers)])


def _restarts_inside(trainers: pl.DataFrame) -> list[int]:
    """Times at which the process that made most steps goes back to an earlier one."""
    steps = trainers.filter(pl.col("phase") == "step", pl.col("step").is_not_null())
    if steps.is_empty():
        return []
    longest = steps["resource_id"].mode().sort()[0]
    mine = steps.filter(pl.col("resource_id") == longest).sort("start_ns")
    back = mine.filter(pl.col("step") <= pl.col("step").shift(1))
    return back["start_ns"].to_list()


def _by_cuts(spans: pl.DataFrame, cuts: list[int]) -> pl.DataFrame:
    number = pl.Series("cut", sorted(cuts), dtype=pl.Int64).search_sorted(spans["start_ns"], side="right")
    return spans.with_columns(attempt=number.cast(pl.Int32))
