"""Whether an excess is more than chance: intervals from windows or blocks of time, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.analysis import blocks
from tracekit.analysis.cohorts import REFERENCE, TAIL, Cohort, StageSums, band_sums, with_total
from tracekit.analysis.influence import influence_sums
from tracekit.analysis.measured import MeasuredUnits
from tracekit.analysis.significance import Uncertainty, from_blocks, from_windows
from tracekit.schema import MINIMUM_UNITS

Shortage = Literal["too_few_units", "too_few_blocks"]


@dataclass(frozen=True)
class Judgement:
    """How the chance in a comparison was judged.

    `method`: `windows`, `blocks` or `none`; `shortage` says why none. `block_counts`: independent blocks of
    each side, or the number of windows. `block_ns`: their lengths. `uncertainty`: over all stages and, last,
    their sum; None without a method.
    """

    method: Literal["windows", "blocks", "none"]
    block_counts: list[int]
    block_ns: list[int]
    uncertainty: Uncertainty | None
    shortage: Shortage | None = None


def judge(sums: StageSums, cohorts: list[Cohort], edges: dict[int, tuple[int, int]]) -> Judgement:
    """Judge the excess of cohort TAIL over cohort REFERENCE.

    `edges` gives the numbers of the edge cohorts of each of the two that is a band.
    """
    tail, reference = cohorts[TAIL], cohorts[REFERENCE]
    if min(tail.count, reference.count) < MINIMUM_UNITS:
        return Judgement("none", [], [], None, "too_few_units")
    if reference.band is None:
        return _by_windows(sums, tail, reference)
    contributions = {number: influence_sums(band_sums(sums, cohorts, number, edges[number])) for number in edges}
    if tail.units is reference.units:
        return _by_blocks([(tail.units, contributions[TAIL] - contributions[REFERENCE])])
    return _by_blocks([(tail.units, contributions[TAIL]), (reference.units, contributions[REFERENCE])])


def _by_windows(sums: StageSums, tail: Cohort, reference: Cohort) -> Judgement:
    counts = np.bincount(reference.bins)
    means = with_total(sums.by_bin[REFERENCE] / counts[:, None])
    return Judgement("windows", [len(counts)], [tail.units.duration_ns], from_windows(means))


def _by_blocks(sides: list[tuple[MeasuredUnits, np.ndarray]]) -> Judgement:
    merged = [_occupied_blocks(units, contributions) for units, contributions in sides]
    counts = [len(part) for part in merged]
    lengths = [units.duration_ns // max(count, 1) for (units, _), count in zip(sides, counts, strict=True)]
    if min(counts) < blocks.MINIMUM_BLOCKS:
        return Judgement("none", counts, lengths, None, "too_few_blocks")
    return Judgement("blocks", counts, lengths, from_blocks(merged))


def _occupied_blocks(units: MeasuredUnits, contributions: np.ndarray) -> np.ndarray:
    """Contributions of blocks that hold units at all: float64[K, S + 1]."""
    bins = blocks.slices(units.start_ns)
    deviations = np.bincount(bins, units.value_ns - units.value_ns.mean(), minlength=blocks.SLICE_COUNT)
    # Ranks show a swinging load that a few extreme durations would hide.
    ranks = np.bincount(bins, _middle_ranks(units.value_ns) - (units.count - 1) / 2, minlength=blocks.SLICE_COUNT)
    count = blocks.independent_block_count([deviations, ranks, contributions[:, -1]])
    occupied = blocks.merged(np.bincount(bins, minlength=blocks.SLICE_COUNT), count) > 0
    return blocks.merged(contributions, count)[occupied]


def _middle_ranks(ordered: np.ndarray) -> np.ndarray:
    """Rank of each value of an ordered array; equal values share the middle of their ranks (float64)."""
    first = np.searchsorted(ordered, ordered, side="left")
    last = np.searchsorted(ordered, ordered, side="right") - 1
    return (first + last) / 2
