"""Mix against rate: is the tail slow, or does it only hold other units than the baseline?

With p_g the share of class g and mu_g its mean, the difference of two means is split with midpoint weights
(Kitagawa 1955; Oaxaca-Blinder), which leaves no residual:

    mix  = sum over g of (pT_g - pB_g) (muT_g + muB_g) / 2
    rate = sum over g of (pT_g + pB_g) / 2 (muT_g - muB_g)

and inside the rate, with n calls of t nanoseconds each (mu = n t),

    calls    = (pT_g + pB_g) / 2 (nT_g - nB_g) (tT_g + tB_g) / 2
    per call = (pT_g + pB_g) / 2 (nT_g + nB_g) / 2 (tT_g - tB_g)

A class on one side only has no counterpart to be slower or faster than: all of its time is mix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CohortSums:
    """One cohort by class and stage: `unit_counts` [G], `self_ns` and `call_counts` [G, S].

    int64, or float64 where units are weighted."""

    unit_counts: np.ndarray
    self_ns: np.ndarray
    call_counts: np.ndarray


@dataclass(frozen=True)
class MixSplit:
    """The excess split by cause; all int64 nanoseconds.

    For each stage `mix_ns + calls_ns + per_call_ns` is its excess, and `rate_ns = calls_ns + per_call_ns`;
    `class_mix_ns` sums to the mix of all stages and `class_rate_ns` to their rate.
    """

    mix_ns: np.ndarray
    rate_ns: np.ndarray
    calls_ns: np.ndarray
    per_call_ns: np.ndarray
    class_mix_ns: np.ndarray
    class_rate_ns: np.ndarray


def mix_split(tail: CohortSums, baseline: CohortSums, excess_ns: np.ndarray) -> MixSplit:
    """Split the excess of each stage (int64[S]) into mix, calls and time per call, exactly.

    The cells are computed in double precision and rounded to whole nanoseconds; the rate takes what the mix
    leaves of the excess, so that the parts sum to it. Rounding moves less than a nanosecond a class.
    """
    tail_share, baseline_share = _shares(tail), _shares(baseline)
    tail_mean, baseline_mean = _counterparts(_means(tail), _means(baseline), tail, baseline)
    mix_cells = (tail_share - baseline_share) * (tail_mean + baseline_mean) / 2
    weight = (tail_share + baseline_share) / 2
    rate_cells = weight * (tail_mean - baseline_mean)
    mix = np.rint(mix_cells.sum(axis=0)).astype(np.int64)
    rate = excess_ns - mix
    calls = np.rint((weight * _call_excess(tail, baseline)).sum(axis=0)).astype(np.int64)
    return MixSplit(
        mix_ns=mix,
        rate_ns=rate,
        calls_ns=calls,
        per_call_ns=rate - calls,
        class_mix_ns=whole_parts(mix_cells.sum(axis=1), int(mix.sum())),
        class_rate_ns=whole_parts(rate_cells.sum(axis=1), int(rate.sum())),
    )


def weighted_sums(parts: list[tuple[CohortSums, np.ndarray]]) -> CohortSums:
    """Cohorts as one, each with the weight of its classes (float64[G, 1])."""
    return CohortSums(
        unit_counts=sum(part.unit_counts * weight[:, 0] for part, weight in parts),
        self_ns=sum(part.self_ns * weight for part, weight in parts),
        call_counts=sum(part.call_counts * weight for part, weight in parts),
    )


def like_split(tail: CohortSums, like: CohortSums, baseline: CohortSums, excess_ns: np.ndarray) -> MixSplit:
    """Split the excess by way of the baseline with the units of the tail's selection (`like`), exactly.

    Mix is what `like` takes more than the baseline; all that the tail takes more than `like` is rate, also where
    slower units of a class fill a larger part of the tail. Rounding as in `mix_split`.
    """
    mix_of, rate_of = _whole_mean(like) - _whole_mean(baseline), _whole_mean(tail) - _whole_mean(like)
    mix = np.rint(mix_of).astype(np.int64)
    rate = excess_ns - mix
    split = mix_split(tail, like, np.rint(rate_of).astype(np.int64))
    before = mix_split(like, baseline, mix)
    return MixSplit(
        mix_ns=mix,
        rate_ns=rate,
        calls_ns=split.calls_ns,
        per_call_ns=rate - split.calls_ns,
        class_mix_ns=before.class_mix_ns + before.class_rate_ns,
        class_rate_ns=whole_parts(split.class_mix_ns + split.class_rate_ns, int(rate.sum())),
    )


def whole_parts(values: np.ndarray, total: int) -> np.ndarray:
    """Each value to the nearest integer; what rounding leaves of `total` goes to the largest (int64)."""
    parts = np.rint(values).astype(np.int64)
    if len(parts):
        parts[np.argmax(np.abs(parts))] += total - int(parts.sum())
    return parts


def _nonzero(counts: np.ndarray) -> np.ndarray:
    return np.where(counts > 0, counts, 1)


def _whole_mean(cohort: CohortSums) -> np.ndarray:
    return cohort.self_ns.sum(axis=0) / max(float(cohort.unit_counts.sum()), 1e-9)


def _shares(cohort: CohortSums) -> np.ndarray:
    return (cohort.unit_counts / cohort.unit_counts.sum())[:, None]


def _means(cohort: CohortSums) -> np.ndarray:
    return cohort.self_ns / _nonzero(cohort.unit_counts)[:, None]


def _counterparts(
    tail_mean: np.ndarray, baseline_mean: np.ndarray, tail: CohortSums, baseline: CohortSums
) -> tuple[np.ndarray, np.ndarray]:
    """Means by class, a missing side taken equal to the other, so that a one-sided class has no rate."""
    only_baseline, only_tail = tail.unit_counts == 0, baseline.unit_counts == 0
    tail_filled = np.where(only_baseline[:, None], baseline_mean, tail_mean)
    baseline_filled = np.where(only_tail[:, None], tail_mean, baseline_mean)
    return tail_filled, baseline_filled


def _call_excess(tail: CohortSums, baseline: CohortSums) -> np.ndarray:
    """What a different number of calls explains of the difference of the means: float64[G, S]."""
    tail_calls, baseline_calls = _calls(tail), _calls(baseline)
    tail_each = np.divide(_means(tail), tail_calls, out=np.zeros_like(tail_calls), where=tail_calls > 0)
    base_each = np.divide(_means(baseline), baseline_calls, out=np.zeros_like(tail_calls), where=baseline_calls > 0)
    # A stage that one side never calls has no time per call there: all of it is calls.
    tail_each = np.where(tail_calls > 0, tail_each, base_each)
    base_each = np.where(baseline_calls > 0, base_each, tail_each)
    # Time without counted operations (a gap that nothing explains) has no calls to differ in.
    uncounted = ((tail_calls == 0) & (tail.self_ns > 0)) | ((baseline_calls == 0) & (baseline.self_ns > 0))
    one_sided = (tail.unit_counts == 0) | (baseline.unit_counts == 0)
    excess = (tail_calls - baseline_calls) * (tail_each + base_each) / 2
    return np.where(uncounted | one_sided[:, None], 0.0, excess)


def _calls(cohort: CohortSums) -> np.ndarray:
    return cohort.call_counts / _nonzero(cohort.unit_counts)[:, None]
