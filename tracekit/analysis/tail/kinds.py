"""Which attribute tells kinds of requests apart that nobody named: a plan, a route, a region.

Classes hold requests that should take the same time, by operation, model and size. Where other requests come than
before and only an attribute tells it, they look slower. An attribute is taken for such a kind where two things are
beyond chance: its values are shared out otherwise than before (Pearson's chi-square), and in the baseline alone
requests of one class take longer with one value than with another (an analysis of variance of the logarithm of the
metric within classes, by the normal approximation of Fisher's F). Only the baseline is asked how long they take, so
that a fault that strikes one value is no kind. What says how a request went, or who served it, is no kind either: it
may be the fault itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from tracekit.analysis.selection import CALLS_UNIT_LIMIT, Selection
from tracekit.analysis.tail.differences import comparable_attributes
from tracekit.analysis.tail.like_units import CHANGED_SHARE, homogeneity

_SURE = 4.0
"""Standard normal deviate beyond which one of some dozens of attributes is no chance."""

_COVERED_SHARE = 0.9
"""Of the selection so much must have values that the baseline has, too: others have nothing to be compared with."""

_FEWEST_OF_VALUE = 5

UNIT_LIMIT = 5_000
"""About so many units of each side show which attribute it is."""

_NO_KIND = re.compile(
    r"(^|[._-])(status|error|exception|outcome|result|response|retr(y|ies)|resend|attempts?|cached?|hit|miss|timeout|latency"
    r"|duration|elapsed|degraded|fallback|queue|host|hostname|node|pod|container|instance|replica|worker|shard|address"
    r"|port|peer|ip|version|revision|build|thread|pid)s?([._-]|$)",
    re.IGNORECASE,
)


def telling_attribute(selection: Selection) -> str | None:
    """The attribute whose values explain most of why the units of the selection take longer than those of the baseline.

    None where no attribute does so beyond chance.
    """
    selection.sample()
    is_large = max(units.count for units in selection.sides) > UNIT_LIMIT
    one_in = max(CALLS_UNIT_LIMIT // UNIT_LIMIT, 1) if is_large else 1
    selection.create_table("tail_attributes", "tail/sampled_attributes", one_in=one_in)
    found = longest_kind(selection.rows)
    selection.drop("tail_attributes")
    return found


def longest_kind(rows: Callable[..., pl.DataFrame]) -> str | None:
    """That attribute of the units of `tail_attributes`; `rows` gives those of a statement by name and parameters."""
    compared, _ = comparable_attributes(rows)
    moved = [key for key, counts in compared.items() if not _NO_KIND.search(key) and _has_moved(counts)]
    longer = {key: _longer_by_kind(rows("tail/kind_times", attribute=key)) for key in moved}
    found = max(longer, key=lambda key: longer[key], default=None)
    return found if found is not None and longer[found] > 0 else None


def _has_moved(counts: pl.DataFrame) -> bool:
    """Whether the values of an attribute are shared out otherwise than before, of nearly all units by known ones."""
    ours, theirs = (counts[name].to_numpy().astype(np.int64) for name in ("tail_count", "rest_count"))
    if not ours.sum() or not theirs.sum():
        return False
    if ours[theirs >= _FEWEST_OF_VALUE].sum() < _COVERED_SHARE * ours.sum():
        return False
    moved = np.abs(ours / ours.sum() - theirs / theirs.sum()).sum() / 2
    return bool(moved >= CHANGED_SHARE and homogeneity(ours, theirs) > _SURE)


def _longer_by_kind(times: pl.DataFrame) -> float:
    """By how much (logarithm) the mean request takes longer for its kind alone; 0 where the kind does not matter."""
    before = _centred(times.filter(~pl.col("is_tail")))
    if not _matters(before):
        return 0.0
    usual = before.group_by("value").agg(
        mean=pl.col("left").sum() / pl.col("unit_count").sum(), before=pl.col("unit_count").sum()
    )
    ours = times.filter("is_tail").group_by("value").agg(after=pl.col("unit_count").sum())
    both = usual.join(ours, on="value", how="left").fill_null(0).sort("value")
    shares = (pl.col(name) / pl.col(name).sum() for name in ("after", "before"))
    after, earlier = both.select(*shares).to_numpy().T if len(both) else (np.zeros(0), np.zeros(0))
    return float(((after - earlier) * both["mean"].to_numpy()).sum())


def _centred(cells: pl.DataFrame) -> pl.DataFrame:
    """With `left`: what the logarithms of a cell sum to beyond the mean of its class."""
    scaled = cells.with_columns(log_sum=pl.col("log_sum") / 1e6, log_square_sum=pl.col("log_square_sum") / 1e12)
    of_class = pl.col("log_sum").sum().over("class_id") / pl.col("unit_count").sum().over("class_id")
    return scaled.with_columns(left=pl.col("log_sum") - pl.col("unit_count") * of_class)


def _matters(cells: pl.DataFrame) -> bool:
    """Whether requests of a class differ by their value: F of the cells of their classes, as a normal deviate."""
    several = cells.filter(pl.len().over("class_id") > 1)
    if several.is_empty():
        return False
    counts = several["unit_count"].to_numpy().astype(np.float64)
    between = float((several["left"].to_numpy() ** 2 / counts).sum())
    within = float((several["log_square_sum"] - several["log_sum"] ** 2 / several["unit_count"]).sum())
    freedom = (len(several) - several["class_id"].n_unique(), float(counts.sum()) - len(several))
    if freedom[1] <= 0:
        return False
    if within <= 0:
        return between > 0
    ratio = np.cbrt(between / freedom[0] / (within / freedom[1]))
    # Paulson 1942: the cube root of F is nearly normal.
    spreads = [2 / (9 * each) for each in freedom]
    deviate = (ratio * (1 - spreads[1]) - (1 - spreads[0])) / np.sqrt(spreads[0] + spreads[1] * ratio**2)
    return bool(deviate > _SURE)
