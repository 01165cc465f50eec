"""Whether an excess is more than chance: intervals from windows or blocks of time, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tracekit.analysis.measured import MeasuredUnits
from tracekit.analysis.statistics import blocks
from tracekit.analysis.statistics.influence import influence_sums
from tracekit.analysis.statistics.significance import (
    BeforeSide,
    SlicedSide,
    Uncertainty,
    WindowChance,
    from_slices,
    from_windows,
    shrinking,
)
from tracekit.analysis.tail.cohorts import REFERENCE, TAIL, Cohort, StageSums, band_sums, with_total
from tracekit.analysis.tail.comparison import Layout
from tracekit.analysis.tail.like_units import like_influence
from tracekit.schema import MINIMUM_UNITS

Shortage = Literal["too_few_units", "too_few_blocks"]


@dataclass(frozen=True)
class Judgement:
    """How the chance in a comparison was judged.

    `method`: `windows`, `blocks` or `none`; `shortage` says why none. `block_counts`: independent blocks of
    each side, or the number of windows. `block_ns`: their lengths. `uncertainty`: over all stages and, last,
    their sum; None without a method. `like_uncertainty`: the same for the excess over like units, where the sides hold
    other units.
    """

    method: Literal["windows", "blocks", "none"]
    block_counts: list[int]
    block_ns: list[int]
    uncertainty: Uncertainty | WindowChance | None
    shortage: Shortage | None = None
    like_uncertainty: Uncertainty | WindowChance | None = None

    @property
    def deciding(self) -> Uncertainty | WindowChance | None:
        """What says whether a stage is slower: against like units where the units differ, else as a whole."""
        return self.like_uncertainty or self.uncertainty


def judge(
    sums: StageSums,
    cohorts: list[Cohort],
    edges: dict[int, tuple[int, int]],
    *,
    middles: tuple[int, int] | None = None,
    places: float = 1.0,
) -> Judgement:
    """Judge the excess of cohort TAIL over cohort REFERENCE.

    `edges` gives the numbers of the edge cohorts of each of the two that is a band. `middles`: numbers of the typical
    units of both sides, by which it is known how many times as long stages take. `places`: among how many such
    selections this one was chosen because of its excess: chance had as many tries (Bonferroni).
    """
    tail, reference = cohorts[TAIL], cohorts[REFERENCE]
    if min(tail.count, reference.count) < MINIMUM_UNITS:
        return Judgement("none", [], [], None, "too_few_units")
    contributions = {number: influence_sums(band_sums(sums, cohorts, number, edges[number])) for number in edges}
    if reference.band is None:
        return _by_windows(sums, tail, reference, places)
    if tail.units is reference.units:
        return _by_blocks([(tail.units, contributions[TAIL] - contributions[REFERENCE])], blocks.MINIMUM_BLOCKS)
    sides = [(tail.units, contributions[TAIL]), (reference.units, contributions[REFERENCE])]
    # A tail that is one short event has no spread inside, and says nothing of how often there is such an event.
    is_spread = all(_quarter_count(cohort) >= blocks.FEWEST_BLOCKS for cohort in (tail, reference))
    fewest = 1 if is_spread else blocks.MINIMUM_BLOCKS
    return _by_blocks(sides, fewest, is_all=_is_all(tail), scale=_scale(sums, cohorts, middles), places=places)


def _scale(sums: StageSums, cohorts: list[Cohort], middles: tuple[int, int] | None) -> np.ndarray:
    """By how much times after are to be shrunk to be as long as before, as typical units have it: float64[S + 1].

    The slowest would not do: where one of them is very long by chance, their mean is, too.
    """
    if middles is None:
        return np.ones(len(sums.stages) + 1)
    after, before = (with_total(sums.total_ns(number) / max(cohorts[number].count, 1)) for number in middles)
    return shrinking(before, after)


def _is_all(tail: Cohort) -> bool:
    return tail.count == tail.units.count


def _quarter_count(cohort: Cohort) -> int:
    """In how many of the quarters of its side's time a cohort has units."""
    return len(np.unique(cohort.bins * blocks.FEWEST_BLOCKS // blocks.SLICE_COUNT))


def _by_windows(sums: StageSums, tail: Cohort, reference: Cohort, places: float) -> Judgement:
    counts = np.bincount(reference.bins)
    means = with_total(sums.by_bin[REFERENCE] / counts[:, None])
    return Judgement("windows", [len(counts)], [tail.units.duration_ns], from_windows(means, places=places))


def _by_blocks(
    sides: list[tuple[MeasuredUnits, np.ndarray]],
    fewest: int = 1,
    *,
    is_all: bool = False,
    scale: np.ndarray | None = None,
    places: float = 1.0,
) -> Judgement:
    """Judge by blocks of each side; with fewer independent ones than `fewest` not at all.

    `scale`: as of `BeforeSide`, where the second side is the time before the first.
    """
    sliced = [_sliced(units, contributions, is_all=is_all) for units, contributions in sides]
    counts = [max(1, int(side.block_counts[-1])) for side in sliced]
    lengths = [units.duration_ns // count for (units, _), count in zip(sides, counts, strict=True)]
    occupied = [
        len(side.occupied(max(blocks.FEWEST_BLOCKS, count), np.arange(1)))
        for side, count in zip(sliced, counts, strict=True)
    ]
    if min(occupied) < blocks.FEWEST_BLOCKS or min(counts) < fewest:
        return Judgement("none", counts, lengths, None, "too_few_blocks")
    before = None if scale is None else _before(sides, sliced, scale)
    return Judgement("blocks", counts, lengths, from_slices(sliced, before, places=places))


def _before(
    sides: list[tuple[MeasuredUnits, np.ndarray]], sliced: list[SlicedSide], scale: np.ndarray
) -> BeforeSide | None:
    """The second side as the one before, where any of its estimates has blocks enough to show what is chance."""
    if sliced[1].block_counts.max() < blocks.FEWEST_BLOCKS:
        return None
    (after, _), (before, _) = sides
    ratio = max(before.duration_ns / max(after.duration_ns, 1), before.count / max(after.count, 1))
    return BeforeSide(1, ratio, scale)


def _sliced(units: MeasuredUnits, contributions: np.ndarray, *, is_all: bool) -> SlicedSide:
    """A side by slices of time, with how many independent blocks each of its estimates has (the whole is the last).

    `is_all`: whether the estimates are means over all units of the side, and not over its slowest.
    """
    bins = blocks.slices(units.start_ns)
    adjusted_ns = _less_class_means(units)
    deviations = np.bincount(bins, adjusted_ns, minlength=blocks.SLICE_COUNT)
    # Ranks show a swinging load that a few extreme durations would hide.
    ranks = np.bincount(bins, middle_ranks(adjusted_ns) - (units.count - 1) / 2, minlength=blocks.SLICE_COUNT)
    counts = np.bincount(bins, minlength=blocks.SLICE_COUNT)
    whole = blocks.independent_block_count([deviations, ranks, contributions[:, -1]])
    own = np.array([own_block_count(column, counts) for column in contributions.T[:-1]])
    if not is_all:
        # Who is among the slowest depends on the whole, and with it all that they took.
        own = np.minimum(own, whole)
    return SlicedSide(contributions, counts, np.append(own, whole))


def own_block_count(column: np.ndarray, counts: np.ndarray) -> float:
    """Independent blocks of one estimate: by what slices add to it, and by how they rank in that."""
    ranks, held = np.zeros(len(column)), counts > 0
    ranks[held] = middle_ranks(column[held]) - (held.sum() - 1) / 2
    return blocks.independent_block_count([column, ranks])


def _less_class_means(units: MeasuredUnits) -> np.ndarray:
    """The metric of each unit less the mean of its class: who comes when is no memory of the system (float64)."""
    counts = np.maximum(np.bincount(units.class_id), 1)
    means = np.bincount(units.class_id, units.value_ns) / counts
    return units.value_ns - means[units.class_id]


def middle_ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each value; equal values share the middle of their ranks (float64)."""
    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right") - 1
    return (first + last) / 2


def judge_like(
    judgement: Judgement, layout: Layout, sums: StageSums, quantile: float, *, places: float = 1.0
) -> Judgement:
    """Judge the excess over like units too, by blocks, where the sides hold other units (`LikeUnits.is_changed`)."""
    like, tail = layout.like, layout.cohorts[TAIL]
    if like is None or not like.is_changed or judgement.uncertainty is None:
        return judgement
    baseline, own = like_influence(like, quantile, sums, layout.like_number)
    selection = influence_sums(band_sums(sums, layout.cohorts, TAIL, layout.edges[TAIL])) - own
    judged = _by_blocks(
        [(tail.units, selection), (like.baseline, baseline)], is_all=quantile == 0, places=layout.places
    )
    return replace(judgement, like_uncertainty=judged.uncertainty)
