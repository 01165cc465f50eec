"""How much each unit moves the mean of a stage over a band of units: the influence function.

For D the metric and x the time in a stage, the mean of x over the units with D between the quantiles a and b
(shares p_a, p_b of the units, β = p_b - p_a) is θ. Taking the quantiles again in every resample gives

    IF = (1{a <= D <= b} x - β θ + m(b) (p_b - 1{D <= b}) - m(a) (p_a - 1{D < a})) / β,   m(q) = E[x | D = q]

(the tail is the band from q to the end, where it becomes the well-known form for expected shortfall). Its
mean is zero, and its sums over blocks of time carry the autocorrelation that independent units would hide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BandSums:
    """Sums over slices of time that the influence of a band's means needs; M slices, S stages.

    `stage_sums`: float64[M, S], time of the band's units in each stage.
    `unit_counts`, `below_counts`, `upto_counts`: int64[M], all units, those below the band, those below or in
    it. `lower_means`, `upper_means`: float64[S], mean time of units at the two ends of the band; zeros at an
    open end.
    """

    stage_sums: np.ndarray
    unit_counts: np.ndarray
    below_counts: np.ndarray
    upto_counts: np.ndarray
    lower_means: np.ndarray
    upper_means: np.ndarray


def influence_sums(sums: BandSums) -> np.ndarray:
    """Contribution of each slice of time to the estimated means: float64[M, S], columns sum to zero.

    The variance of a mean is the sum of squares of these contributions over independent blocks.
    """
    unit_count = sums.unit_counts.sum()
    below_share = sums.below_counts.sum() / unit_count
    upto_share = sums.upto_counts.sum() / unit_count
    expected = np.outer(sums.unit_counts, sums.stage_sums.sum(axis=0) / unit_count)
    upper = np.outer(upto_share * sums.unit_counts - sums.upto_counts, sums.upper_means)
    lower = np.outer(below_share * sums.unit_counts - sums.below_counts, sums.lower_means)
    return (sums.stage_sums - expected + upper - lower) / ((upto_share - below_share) * unit_count)
