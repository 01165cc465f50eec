"""Is it slow, or is there more to do at once? The work that arrived in the time of each side.

Where requests share machines, they wait for each other: more of them, or longer ones, make all of them slower
without any fault. So the work that arrives is compared too. Of N independent arrivals that bring x each, the
amount sum(x) has the variance sum(x^2) (compound Poisson); the ratio of two rates is higher than chance
when its logarithm exceeds three standard errors, sqrt(sum(x^2) / sum(x)^2 of both sides).

Arrivals that come in bursts swing by more than that. Where the baseline has many times as long as the selection, and in
some of them as much arrived, such load is usual: what it does to the stages is in the baseline too.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis.measured import BASELINE, SELECTION
from tracekit.analysis.tail.comparison import Comparison
from tracekit.analysis.tail.like_units import LikeUnits
from tracekit.schema import UnitKind

HIGHER_FACTOR = 1.25
"""Less additional work than this is no load rise, however certain it is."""

MORE_WORK_FACTOR = 1.1
"""Where requests of other classes arrive, so many times the work is more: queues grow faster than what fills them."""

USUAL_SHARE = 0.2
"""Load is usual that so many of the times of the baseline, as long as the selection, have too (`MORE_WORK_FACTOR`)."""

FEWEST_TIMES = 10
"""Fewer times than this do not show what is usual."""

_STANDARD_ERRORS = 3.0

LOAD_SCHEMA = {
    "work": pl.String,
    "selection_per_s": pl.Float64,
    "baseline_per_s": pl.Float64,
    "factor": pl.Float64,
    "is_higher": pl.Boolean,
}


def load_frame(comparison: Comparison) -> pl.DataFrame:
    """Work that arrived each second on both sides (LOAD_SCHEMA): requests, their input and output tokens, and `work`.

    `is_higher`: more arrived for the selection than chance and `HIGHER_FACTOR` allow, and than is usual (`USUAL_SHARE`)
    in the baseline. Empty for steps, and without a baseline selection; no row for work that one side has none of.
    """
    if not comparison.layout.levels or comparison.selection.metric.unit_kind != UnitKind.REQUEST:
        return pl.DataFrame(schema=LOAD_SCHEMA)
    arrived = comparison.rows("tail/load")
    sides = [arrived.filter(pl.col("side") == side, pl.col("amount") > 0) for side in (SELECTION, BASELINE)]
    both = sides[0].join(sides[1], on="work", suffix="_before").sort("work")
    arrivals = both.with_columns(
        selection_per_s=_rate(""), baseline_per_s=_rate("_before"), spread=_spread("") + _spread("_before")
    ).select(
        "work",
        "selection_per_s",
        "baseline_per_s",
        factor=pl.col("selection_per_s") / pl.col("baseline_per_s"),
        is_higher=_is_higher(),
    )
    if arrivals["is_higher"].any():
        arrivals = _without_usual(arrivals, comparison.rows("tail/load_course"), both)
    like = comparison.layout.like
    return arrivals if like is None else pl.concat([arrivals, _work(like, arrivals.filter(work="requests"))])


def _without_usual(arrivals: pl.DataFrame, course: pl.DataFrame, both: pl.DataFrame) -> pl.DataFrame:
    """The rows with `is_higher` only where fewer times of the baseline had as much than is usual."""
    amounts = course.join(both.select("work", asked="amount"), on="work")
    times = amounts.group_by("work").agg(
        as_much=(MORE_WORK_FACTOR * pl.col("amount") >= pl.col("asked")).sum(),
        block_count=pl.col("block_count").first(),
    )
    is_usual = (pl.col("block_count") >= FEWEST_TIMES) & (pl.col("as_much") >= USUAL_SHARE * pl.col("block_count"))
    usual = times.filter(is_usual)["work"].to_list()
    return arrivals.with_columns(pl.col("is_higher") & ~pl.col("work").is_in(usual))


def _work(like: LikeUnits, requests: pl.DataFrame) -> pl.DataFrame:
    """The time that arrived each second, in seconds: what the classes of the requests take in the baseline.

    The same number of requests of a larger model is more to do. One row, or none where a request brings as much as
    before, as far as chance lets know.
    """
    means = like.baseline_class_means
    sides = [means[units.class_id] for units in (like.selection, like.baseline)]
    sides = [times[~np.isnan(times)] for times in sides]
    if requests.is_empty() or min(len(times) for times in sides) < 2:
        return pl.DataFrame(schema=LOAD_SCHEMA)
    each, is_certain = more_each(*sides)
    if not is_certain:
        return pl.DataFrame(schema=LOAD_SCHEMA)
    rates = [requests[0, f"{side}_per_s"] * times.mean() / 1e9
             for side, times in zip(("selection", "baseline"), sides, strict=True)]  # fmt: skip
    factor = requests[0, "factor"] * each
    row = ("work", *rates, factor, min(each, factor) >= MORE_WORK_FACTOR)
    return pl.DataFrame([row], schema=LOAD_SCHEMA, orient="row")


def more_each(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, bool]:
    """How many times as much one request brings as the other side's, and whether that is beyond chance."""
    means = [float(times.mean()) for times in (ours, theirs)]
    if not min(means):
        return 1.0, False
    spread = sum(float(times.var()) / len(times) / mean**2 for times, mean in zip((ours, theirs), means, strict=True))
    each = means[0] / means[1]
    return each, bool(np.log(each) > _STANDARD_ERRORS * np.sqrt(spread))


def _rate(suffix: str) -> pl.Expr:
    return pl.col(f"amount{suffix}") * 1e9 / pl.col(f"duration_ns{suffix}")


def _spread(suffix: str) -> pl.Expr:
    return pl.col(f"square_sum{suffix}") / pl.col(f"amount{suffix}").cast(pl.Float64) ** 2


def _is_higher() -> pl.Expr:
    ratio = (pl.col("selection_per_s") / pl.col("baseline_per_s")).log()
    return (ratio >= np.log(HIGHER_FACTOR)) & (ratio > _STANDARD_ERRORS * pl.col("spread").sqrt())
