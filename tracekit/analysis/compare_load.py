"""Whether the sides of a comparison had as much to do, and what follows where they had not."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.compared_sides import ComparedSide
from tracekit.analysis.load import HIGHER_FACTOR
from tracekit.analysis.verdict import MAJORITY, is_shared
from tracekit.store import Database

LOAD_SCHEMA = {"work": pl.String, "before_per_s": pl.Float64, "after_per_s": pl.Float64, "factor": pl.Float64}


def load_frame(sides: list[ComparedSide]) -> pl.DataFrame:
    """Requests and tokens that arrived each second on both sides (LOAD_SCHEMA)."""
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
        (name, rates[0][name], rates[1][name], rates[1][name] / rates[0][name]) for name in rates[0] if rates[0][name]
    ]
    return pl.DataFrame(table, schema=LOAD_SCHEMA, orient="row")


def stage_layers(database: Database, stages: list[str]) -> pl.DataFrame:
    """The part of the system that each stage belongs to: `stage`, `layer`."""
    return database.query("tail/stage_owners", stages=stages).select("stage", "layer")


def is_of_load(load: pl.DataFrame, stages: pl.DataFrame, outcomes: pl.DataFrame, layers: pl.DataFrame) -> bool:
    """Whether more work arrived after, and what takes longer beyond chance does so where requests wait for each other.

    Then load and slowness look the same. Never where more requests failed, or fewer were good.
    """
    if not (load["factor"] >= HIGHER_FACTOR).any():
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
