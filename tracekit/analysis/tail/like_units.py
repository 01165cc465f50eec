"""The baseline as it would be with the units of the selection: compare like with like before tails are taken.

Where the selection holds other units than the baseline (models, sizes, operations), the slowest of both are other
units too, and the slowest hundredth of many slow ones lies further out than that of a few. So each unit of the
baseline gets the weight of its class, its share in the selection over its share in the baseline (post-stratification;
DiNardo, Fortin and Lemieux 1996), and the tail is taken of the weighted units. What that tail differs from the
baseline's own is mix, and what the selection's tail differs from it is not. Units of a class that the baseline lacks
stand on both sides: nothing shows whether they are slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracekit.analysis.measured import MeasuredUnits
from tracekit.analysis.statistics import blocks
from tracekit.analysis.tail.cohorts import EDGE_LIMIT, EDGE_SHARE, Cohort, StageSums, with_total

CHANGED_SHARE = 0.05
"""Less of the units than this in other classes is no other mix, however certain it is."""

_UNMATCHED_SHARE = 0.5

_CHANCE_NORMAL = 3.1
"""Standard normal deviate beyond which chance does not make classes differ (one case in a thousand)."""

_EXPECTED_COUNT = 5
"""Classes with fewer expected units are counted together in the test."""


@dataclass(frozen=True)
class LikeUnits:
    """Two sides with the weight of each class: float64[classes], 0 where the baseline has none of it."""

    selection: MeasuredUnits
    baseline: MeasuredUnits
    class_weights: np.ndarray

    @classmethod
    def of(cls, selection: MeasuredUnits, baseline: MeasuredUnits) -> LikeUnits:
        """Weights that give the baseline the classes of the selection."""
        ours, theirs = class_counts(selection, baseline)
        scale = baseline.count / max(selection.count, 1)
        weights = np.divide(ours * scale, theirs, out=np.zeros(len(ours)), where=theirs > 0)
        return cls(selection, baseline, weights)

    @cached_property
    def baseline_class_means(self) -> np.ndarray:
        """Mean metric of each class in the baseline: float64[classes], NaN where it has none of it."""
        ours, theirs = class_counts(self.selection, self.baseline)
        sums = np.bincount(self.baseline.class_id, self.baseline.value_ns, minlength=len(ours))
        return np.divide(sums, theirs, out=np.full(len(ours), np.nan), where=theirs > 0)

    @property
    def own_weight(self) -> float:
        """Weight of a unit of the selection whose class the baseline lacks."""
        return max(self.baseline.count, 1) / max(self.selection.count, 1)

    @cached_property
    def is_changed(self) -> bool:
        """Whether the classes differ between the sides beyond chance, and by enough to matter.

        Where the baseline lacks the classes of most units there is nothing like them to compare with.
        """
        ours, theirs = class_counts(self.selection, self.baseline)
        if not self.selection.count or not self.baseline.count:
            return False
        if (self.own_weights > 0).mean() > _UNMATCHED_SHARE:
            return False
        moved = np.abs(ours / ours.sum() - theirs / theirs.sum()).sum() / 2
        return bool(moved >= CHANGED_SHARE and homogeneity(ours, theirs) > _CHANCE_NORMAL)

    def effective_count(self, quantile: float) -> float:
        """Equally weighted units that would show as much as the weighted tail does (Kish 1965)."""
        weights = np.concatenate([part.weights for part in self.tail(quantile)])  # type: ignore[misc]
        squares = float((weights**2).sum())
        return float(weights.sum()) ** 2 / squares if squares else 0.0

    def tail(self, quantile: float) -> tuple[Cohort, Cohort]:
        """The slowest of the weighted baseline, and of the units that stand on both sides."""
        threshold = self._threshold_ns(quantile)
        return self._between(threshold, None)

    def edge(self, quantile: float) -> tuple[Cohort, Cohort]:
        """Units around the threshold of the tail; none for quantile 0."""
        if quantile == 0:
            return self._between(1, 0)
        reach = min(EDGE_LIMIT, EDGE_SHARE * (1 - quantile))
        return self._between(self._threshold_ns(quantile - reach), self._threshold_ns(quantile + reach))

    def _between(self, low_ns: int, high_ns: int | None) -> tuple[Cohort, Cohort]:
        parts = []
        for units, weights in ((self.baseline, self.unit_weights), (self.selection, self.own_weights)):
            inside = (units.value_ns >= low_ns) & (weights > 0)
            if high_ns is not None:
                inside &= units.value_ns <= high_ns
            positions = np.flatnonzero(inside)
            bins = blocks.slices(units.start_ns)[positions]
            parts.append(Cohort(units, positions, bins, None, weights[positions]))
        return parts[0], parts[1]

    @cached_property
    def unit_weights(self) -> np.ndarray:
        """Weight of each unit of the baseline: float64[N]."""
        return self.class_weights[self.baseline.class_id]

    @cached_property
    def own_weights(self) -> np.ndarray:
        return np.where(self.class_weights[self.selection.class_id] > 0, 0.0, self.own_weight)

    @cached_property
    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of all weighted units in order, and the running share of their weights."""
        values = np.concatenate([self.baseline.value_ns, self.selection.value_ns])
        weights = np.concatenate([self.unit_weights, self.own_weights])
        order = np.argsort(values, kind="stable")
        running = np.cumsum(weights[order])
        return values[order], running / max(float(running[-1]), 1e-9) if len(running) else running

    def _threshold_ns(self, quantile: float) -> int:
        values, shares = self._ordered
        if not len(values):
            return 0
        return int(values[min(int(np.searchsorted(shares, quantile - 1e-9)), len(values) - 1)])


def like_influence(like: LikeUnits, quantile: float, sums: StageSums, number: int) -> tuple[np.ndarray, np.ndarray]:
    """How each slice of time moves the means of the weighted tail: float64[M, S + 1] of baseline and selection.

    `number`: of the first of its cohorts in `sums`. As `influence_sums`, with each unit counted by its weight.
    """
    stage_sums = [with_total(sums.weighted[number + part]) for part in range(2)]
    sides = ((like.baseline, like.unit_weights), (like.selection, like.own_weights))
    tails, edges = like.tail(quantile), like.edge(quantile)
    whole = sum(float(weights.sum()) for _, weights in sides)
    above: float = sum(float(part.weights.sum()) for part in tails)  # type: ignore[union-attr, misc]
    near = max(sum(float(part.weights.sum()) for part in edges), 1e-9)  # type: ignore[union-attr, misc]
    means = sum(part.sum(axis=0) for part in stage_sums) / whole
    lower = sum(with_total(sums.weighted[number + 2 + part]).sum(axis=0) for part in range(2)) / near
    parts = []
    for (units, weights), tail, times in zip(sides, tails, stage_sums, strict=True):
        bins = blocks.slices(units.start_ns)
        counts = np.bincount(bins, weights, blocks.SLICE_COUNT)
        below = counts - np.bincount(tail.bins, tail.weights, blocks.SLICE_COUNT)
        moved = np.outer((1 - above / whole) * counts - below, lower)
        parts.append((times - np.outer(counts, means) + moved) / above)
    return parts[0], parts[1]


def class_counts(selection: MeasuredUnits, baseline: MeasuredUnits) -> tuple[np.ndarray, np.ndarray]:
    """Units of each class on both sides: int64[classes] each."""
    length = 1 + max(int(units.class_id.max(initial=0)) for units in (selection, baseline))
    ours, theirs = (np.bincount(units.class_id, minlength=length) for units in (selection, baseline))
    return ours, theirs


def homogeneity(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Pearson's chi-square of two rows of counts, as a standard normal deviate (Wilson and Hilferty 1931)."""
    counts = np.stack([ours, theirs]).astype(np.float64)
    counts = counts[:, counts.sum(axis=0) > 0]
    rare = (np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()).min(axis=0) < _EXPECTED_COUNT
    together = counts[:, rare].sum(axis=1, keepdims=True)
    table = np.concatenate([counts[:, ~rare], together], axis=1) if together.sum() else counts[:, ~rare]
    freedom = table.shape[1] - 1
    if freedom < 1:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi_square = float(((table - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return float((np.cbrt(chi_square / freedom) - (1 - spread)) / np.sqrt(spread))
