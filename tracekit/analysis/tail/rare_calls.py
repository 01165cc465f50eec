"""Is a stage slower that few units have? The time per call, given that it occurs, tested beside the mean over units.

A call that one request in ten makes hardly moves the mean over all requests, and the chance in how many make it
hides what moves. So the calls themselves are compared: of all pairs of a unit of the selection and one of the
baseline that have the stage, U counts those in which the selection's call is longer (Mann and Whitney 1947). Under
chance every order of the n + m units is equally likely, which gives the exact distribution of U; ties count as half,
rounded against a finding. Units that rarely call a stage are taken as independent of each other.
"""

from __future__ import annotations

from functools import cache
from math import comb, erfc, sqrt

import numpy as np
import polars as pl

from tracekit.analysis.measured import BASELINE, SELECTION
from tracekit.analysis.statistics.significance import CONFIDENCE
from tracekit.analysis.tail.comparison import Comparison

RARE_SHARE = 0.25
"""A stage is rare that no more than this share of the units of each side have; others move the mean."""

LONGER_FACTOR = 1.5
"""A call must take this many times as long to be called slower, however certain it is."""

RARE_CALL_SCHEMA = {
    "stage": pl.String,
    "selection_units": pl.Int64,
    "baseline_units": pl.Int64,
    "selection_per_call_ns": pl.Int64,
    "baseline_per_call_ns": pl.Int64,
    "excess_ns": pl.Int64,
    "adjusted_p": pl.Float64,
    "is_slower": pl.Boolean,
}

_EXACT_LIMIT = 60
"""Up to so many units on each side the chance is exact; beyond, the normal distribution is as good."""


def rare_call_frame(comparison: Comparison) -> pl.DataFrame:
    """One row a rare stage (RARE_CALL_SCHEMA), what it adds to the mean unit of the selection first.

    `selection_units`, `baseline_units`: units that have it. `..._per_call_ns`: median over them. `excess_ns`: what
    longer calls add to the mean over all units of the selection. `adjusted_p`: chance of such an order of the calls,
    corrected for the number of rare stages (Bonferroni). Empty without a baseline selection.
    """
    metric = comparison.selection.metric
    if not comparison.layout.levels or metric.is_per_token:
        return pl.DataFrame(schema=RARE_CALL_SCHEMA)
    windows = None if metric.covers_unit else list(metric.windows)
    calls = comparison.rows("tail/rare_calls", windows=windows, rare_share=RARE_SHARE)
    stages = calls.partition_by("stage", maintain_order=True)
    rows = [_row(part, test_count=len(stages)) for part in stages]
    return pl.DataFrame(rows, schema=RARE_CALL_SCHEMA).sort("excess_ns", "stage", descending=[True, False])


def _row(part: pl.DataFrame, *, test_count: int) -> dict[str, object]:
    ours, theirs = (part.filter(side=side) for side in (SELECTION, BASELINE))
    each, before = (float(side["per_call_ns"].median()) for side in (ours, theirs))  # type: ignore[arg-type]
    chance = min(1.0, test_count * order_chance(ours["per_call_ns"].to_numpy(), theirs["per_call_ns"].to_numpy()))
    added_ns = (each - before) * int(ours["call_count"].sum()) / int(ours["side_count"][0])
    return {
        "stage": part["stage"][0],
        "selection_units": ours.height,
        "baseline_units": theirs.height,
        "selection_per_call_ns": round(each),
        "baseline_per_call_ns": round(before),
        "excess_ns": round(added_ns),
        "adjusted_p": chance,
        "is_slower": chance < 1 - CONFIDENCE and each >= LONGER_FACTOR * before and each > before,
    }


def order_chance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Chance, both ways together, that values of one distribution are as far apart in order as these.

    Exact up to 60 values a side, else by the normal distribution that U tends to.
    """
    pairs, ordered = len(ours) * len(theirs), np.sort(theirs)
    longer = int(np.searchsorted(ordered, ours, side="left").sum())
    shorter = pairs - int(np.searchsorted(ordered, ours, side="right").sum())
    # Ties count as half, rounded against a finding.
    extreme = max(longer, shorter) + (pairs - longer - shorter) // 2
    if max(len(ours), len(theirs)) > _EXACT_LIMIT:
        spread = sqrt(pairs * (len(ours) + len(theirs) + 1) / 12)
        return min(1.0, erfc((extreme - 0.5 - pairs / 2) / spread / sqrt(2)))
    at_least = sum(_order_counts(len(ours), len(theirs))[extreme:])
    return min(1.0, 2 * at_least / comb(len(ours) + len(theirs), len(ours)))


@cache
def _order_counts(ours: int, theirs: int) -> tuple[int, ...]:
    """In how many orders of n and m values each number of pairs is longer: the Gaussian binomial coefficients.

    The generating function is the product over i = 1..n of (1 - q^(m + i)) / (1 - q^i).
    """
    counts = [1] + [0] * (ours * theirs)
    for i in range(1, ours + 1):
        for power in range(len(counts) - 1, theirs + i - 1, -1):
            counts[power] -= counts[power - theirs - i]
        for power in range(i, len(counts)):
            counts[power] += counts[power - i]
    return tuple(counts)
