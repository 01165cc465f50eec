"""Whether the sides of a comparison had as much to do, and what follows where they had not."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis.compare.same_mix import Matched
from tracekit.analysis.compare.sides import ComparedSide
from tracekit.analysis.tail.load import FEWEST_TIMES, HIGHER_FACTOR, MORE_WORK_FACTOR, USUAL_SHARE, more_each
from tracekit.analysis.tail.verdict import MAJORITY, is_shared
from tracekit.store import Database

LOAD_SCHEMA = {
    "work": pl.String,
    "before_per_s": pl.Float64,
    "after_per_s": pl.Float64,
    "factor": pl.Float64,
    "is_usual": pl.Boolean,
}


def load_frame(sides: list[ComparedSide], match: Matched | None) -> pl.DataFrame:
    """Requests, tokens and work that arrived each second on both sides (LOAD_SCHEMA).

    Work is the time, in seconds, that the classes of the requests take before (`match`, of the end-to-end time); it is
    told where one request brings more or less of it than before, beyond chance. `is_usual`: times before that are as
    long as the one after had as much (`USUAL_SHARE` of them): what it does to the stages is in the side before too.
    """
    if any(len(side.units) < 2 for side in sides):
        return pl.DataFrame(schema=LOAD_SCHEMA)
    rates = []
    for side in sides:
        starts = side.units["start_ns"].to_numpy()
        seconds = max(int(starts[-1] - starts[0]), 1) / 1e9
        amounts = {"requests": len(side.units)} | {
            name: int(side.units[name].fill_null(0).sum()) for name in ("input_tokens", "output_tokens")
        }
        rates.append({name: amount / seconds for name, amount in amounts.items()})
    table = [
        (name, rates[0][name], rates[1][name], rates[1][name] / rates[0][name], _is_usual(sides, name, rates[1][name]))
        for name in rates[0]
        if rates[0][name]
    ]
    if match is not None and (work := _work(sides, match)):
        before, after = (rates[side]["requests"] * work[side] / 1e9 for side in (0, 1))
        table.append(("work", before, after, after / before, False))
    return pl.DataFrame(table, schema=LOAD_SCHEMA, orient="row")


def _is_usual(sides: list[ComparedSide], work: str, rate_per_s: float) -> bool:
    """Whether enough of the times before, as long as the one after, had this rate of requests or tokens."""
    before, after = (side.units["start_ns"].to_numpy() for side in sides)
    length_ns = int(after[-1] - after[0]) + 1
    numbers = (before - before[0]) // length_ns
    block_count = (int(before[-1] - before[0]) + 1) // length_ns
    if block_count < FEWEST_TIMES:
        return False
    amounts = None if work == "requests" else sides[0].units[work].fill_null(0).to_numpy()
    brought = np.bincount(numbers, amounts, minlength=block_count)[:block_count]
    as_much = MORE_WORK_FACTOR * brought >= rate_per_s * length_ns / 1e9
    return bool(as_much.mean() >= USUAL_SHARE)


def _work(sides: list[ComparedSide], match: Matched) -> tuple[float, float] | None:
    """Nanoseconds that a request brings, before and after, by what its class takes before; None where it is as much."""
    known = [number >= 0 for number in match.class_no]
    values = sides[0].served["e2e_ns"].to_numpy()[known[0]]
    means = np.bincount(match.class_no[0][known[0]], values, minlength=len(match.weights)) / np.maximum(
        match.counts[0], 1
    )
    before, after = (means[number[has]] for number, has in zip(match.class_no, known, strict=True))
    if min(len(before), len(after)) < 2 or not more_each(after, before)[1]:
        return None
    return float(before.mean()), float(after.mean())


def stage_layers(database: Database, stages: list[str]) -> pl.DataFrame:
    """The part of the system that each stage belongs to: `stage`, `layer`."""
    return database.query("tail/stage_owners", stages=stages).select("stage", "layer")


def is_of_load(load: pl.DataFrame, stages: pl.DataFrame, outcomes: pl.DataFrame, layers: pl.DataFrame) -> bool:
    """Whether more work arrived after, and what takes longer beyond chance does so where requests wait for each other.

    Then load and slowness look the same. Never where more requests failed, or fewer were good.
    """
    least = pl.when(pl.col("work") == "work").then(MORE_WORK_FACTOR).otherwise(HIGHER_FACTOR)
    if load.filter(pl.col("factor") >= least, ~pl.col("is_usual")).is_empty():
        return False
    ended_worse = pl.when(pl.col("outcome") == "good").then(pl.col("change") < 0).otherwise(pl.col("change") > 0)
    if outcomes.filter(pl.col("significant") & ended_worse).height:
        return False
    longer = stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))
    if longer.is_empty():
        # The whole is longer, no stage by itself: all that grew counts.
        longer = stages.filter(pl.col("excess_ns") > 0)
    # Metrics share their stages, so each is looked at by itself.
    placed = longer.join(layers, on="stage", how="left")
    sums = placed.group_by("metric").agg(
        pl.col("excess_ns").sum(), shared_ns=pl.col("excess_ns").filter(is_shared()).sum()
    )
    return bool((sums["shared_ns"] > MAJORITY * sums["excess_ns"]).all())
