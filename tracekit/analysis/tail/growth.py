"""Has a stage grown, call by call? Beyond what one request differs from another, and one time from another.

A mean over the slowest is moved by a few long requests, and by how many of them make a call. So the logarithm of the
time per call of every unit that has the stage is compared too, class by class, in all units that enter: a stage that
takes k times as long is moved by ln k, whether it takes a microsecond or a minute, and whether one request in forty
calls it or all.

Two kinds of chance are told apart by an analysis of variance of the baseline (one random factor; Searle, Casella and
McCulloch 1992): requests of a block of time differ from each other (s^2), and blocks differ, because load and machines
swing (b^2). The selection is one more block: the variance of the difference is

    b^2 (1 + 1 / B) + s^2 (1 / n + sum over classes of w^2 / n_class)

with B blocks of the baseline, n units of the selection, and w the share of them in a class. What swings from block to
block is therefore no growth. Degrees of freedom are Satterthwaite's (1946).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.measured import BASELINE, SELECTION
from tracekit.analysis.statistics.significance import CONFIDENCE, student_quantile, student_two_sided
from tracekit.analysis.tail.comparison import Comparison
from tracekit.schema import UnitKind

CERTAIN = 0.01
"""Chance, over all stages together, below which a stage has grown."""

GROWN_FACTOR = 1.1
"""A call that takes less than so many times what it took has not grown, however certain it is."""

FEWEST_BLOCKS, MOST_BLOCKS = 10, 128
"""Blocks of the time of the baseline: as long as the selection, but at least and at most so many."""

_LEAST_FREEDOM = 3
_FEWEST_LONG = 3
"""A stage that fewer units of the selection have is not said to have grown: a single call may be long by itself."""

_FEWEST_OF_SELECTION = 4
"""From so many units on the selection shows its own spread."""

GROWTH_SCHEMA = {
    "stage": pl.String,
    "selection_units": pl.Int64,
    "baseline_units": pl.Int64,
    "factor": pl.Float64,
    "factor_low": pl.Float64,
    "excess_ns": pl.Int64,
    "sure_ns": pl.Int64,
    "adjusted_p": pl.Float64,
    "has_grown": pl.Boolean,
}
_TABLE = "tail_calls"


def create_call_rows(comparison: Comparison) -> bool:
    """Make the table `tail_calls`; False where calls are not compared: without a baseline selection, and for steps."""
    metric = comparison.selection.metric
    if not comparison.layout.levels or metric.unit_kind != UnitKind.REQUEST:
        return False
    comparison.selection.sample()
    comparison.create_table(
        _TABLE,
        "tail/call_rows",
        windows=None if metric.covers_unit else list(metric.windows),
        is_per_token=metric.is_per_token,
        fewest_blocks=FEWEST_BLOCKS,
        most_blocks=MOST_BLOCKS,
    )
    return True


def drop_call_rows(comparison: Comparison) -> None:
    """Drop that table."""
    comparison.selection.drop(_TABLE)


def growth_frame(comparison: Comparison) -> pl.DataFrame:
    """One row a stage that both sides have in units of the same class (GROWTH_SCHEMA), the surest growth first.

    `factor`: how many times as long a call takes; `factor_low`: the least that chance leaves of it, with 95 %
    confidence. `excess_ns`: what that growth adds to the mean unit of the selection; `sure_ns`: what the least of it
    adds, 0 where chance may be all. `adjusted_p`: chance of such a growth, corrected for the number of stages and of
    the places that were searched (Bonferroni). Reads `tail_calls` (`create_call_rows`).
    """
    cells = comparison.rows("tail/call_sums").with_columns(
        log_sum=pl.col("log_sum") / 1e6, log_square_sum=pl.col("log_square_sum") / 1e12
    )
    stages = cells.partition_by("stage", maintain_order=True)
    found = [row for row in map(_row, stages) if row is not None]
    test_count = len(found) * max(comparison.layout.places, 1.0)
    rows = [row | _judged(row, test_count=test_count) for row in found]
    frame = pl.DataFrame([{name: row[name] for name in GROWTH_SCHEMA} for row in rows], schema=GROWTH_SCHEMA)
    return frame.sort("sure_ns", "excess_ns", "stage", descending=[True, True, False])


def _row(cells: pl.DataFrame) -> dict[str, Any] | None:
    sides = {side: cells.filter(side=side) for side in (SELECTION, BASELINE)}
    if any(part.is_empty() for part in sides.values()):
        return None
    classes = _by_class(sides[SELECTION]).join(_by_class(sides[BASELINE]), on="class_id", suffix="_before")
    spread = _Spread.of(sides[BASELINE])
    if classes.is_empty() or spread is None:
        return None
    units, before = (classes[name].to_numpy().astype(np.float64) for name in ("unit_count", "unit_count_before"))
    weights = units / units.sum()
    means = classes["log_sum"].to_numpy() / units - classes["log_sum_before"].to_numpy() / before
    within, freedom = spread.within, spread.freedom
    own = _within(sides[SELECTION])
    mine = max(within, own[0]) if own[1] >= _FEWEST_OF_SELECTION else within
    parts = (mine / units.sum() + within * float((weights**2 / before).sum()), spread.between * (1 + 1 / spread.blocks))
    return {
        "stage": cells["stage"][0],
        "selection_units": int(units.sum()),
        "baseline_units": int(sides[BASELINE]["unit_count"].sum()),
        "log_growth": float(weights @ means),
        "error": sqrt(sum(parts)),
        "freedom": _together(parts, (freedom, max(spread.blocks - 1, 1))),
        "mean_ns": float(sides[SELECTION]["self_ns"].sum()) / int(sides[SELECTION]["side_count"][0]),
    }


def _judged(row: dict[str, Any], *, test_count: float) -> dict[str, Any]:
    growth, error, freedom = row["log_growth"], row["error"], row["freedom"]
    least = growth - error * student_quantile(CONFIDENCE, freedom)
    chance = student_two_sided(growth / error, freedom) if error else float(growth == 0)
    adjusted = min(1.0, test_count * chance)
    return {
        "factor": exp(growth),
        "factor_low": exp(least),
        "excess_ns": round(row["mean_ns"] * (1 - exp(-growth))),
        "sure_ns": round(row["mean_ns"] * (1 - exp(-max(least, 0.0)))),
        "adjusted_p": adjusted,
        "has_grown": row["selection_units"] >= _FEWEST_LONG
        and growth > 0
        and adjusted < CERTAIN
        and exp(growth) >= GROWN_FACTOR,
    }


@dataclass(frozen=True)
class _Spread:
    """Variance of logarithms in the baseline: `within` a class, `between` blocks of time; degrees of freedom."""

    within: float
    between: float
    freedom: int
    blocks: int

    @classmethod
    def of(cls, cells: pl.DataFrame) -> _Spread | None:
        within, freedom = _within(cells)
        if freedom < _LEAST_FREEDOM:
            return None
        means = pl.col("log_sum").sum().over("class_id") / pl.col("unit_count").sum().over("class_id")
        left = cells.with_columns(left=pl.col("log_sum") - pl.col("unit_count") * means)
        blocks = left.group_by("block", maintain_order=True).agg(pl.col("unit_count", "left").sum()).sort("block")
        units, sums = (blocks[name].to_numpy().astype(np.float64) for name in ("unit_count", "left"))
        if len(units) < 2:
            return cls(within, 0.0, freedom, 1)
        each = (units.sum() - (units**2).sum() / units.sum()) / (len(units) - 1)
        between = float((sums**2 / units).sum()) / (len(units) - 1)
        return cls(within, max(0.0, (between - within) / each), freedom, len(units))


def _by_class(cells: pl.DataFrame) -> pl.DataFrame:
    sums = pl.col("unit_count", "log_sum", "log_square_sum").sum()
    return cells.group_by("class_id", maintain_order=True).agg(sums).sort("class_id")


def _within(cells: pl.DataFrame) -> tuple[float, int]:
    """Variance of the logarithms within classes, and its degrees of freedom."""
    classes = _by_class(cells)
    squares = classes["log_square_sum"] - classes["log_sum"] ** 2 / classes["unit_count"]
    freedom = int((classes["unit_count"].cast(pl.Int64) - 1).sum())
    return (max(float(squares.sum()), 0.0) / freedom if freedom else 0.0), freedom


def _together(variances: tuple[float, float], freedoms: tuple[int, int]) -> int:
    """Satterthwaite's degrees of freedom of a sum of variances."""
    spread = sum(part**2 / freedom for part, freedom in zip(variances, freedoms, strict=True))
    return max(1, int(sum(variances) ** 2 / spread + 1e-9)) if spread else min(freedoms)
