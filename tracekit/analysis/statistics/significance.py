"""Student intervals and the max-T test over all stages at once, without a statistics package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import erfc, sqrt

import numpy as np

from tracekit.analysis.statistics import blocks

CONFIDENCE = 0.95
_DRAWS = 4000
_SKEWNESS_FREEDOM = 9
_MOST_SKEW = 2.0
"""More skewness than this (that of an exponential) is not corrected for: few blocks show it too badly."""

_SEED = 20_241_107
"""The critical value is simulated with a fixed seed: the same data give the same answer."""


@dataclass(frozen=True)
class Uncertainty:
    """Spread of S estimates and how to judge them.

    `standard_error`: float64[S], in the unit of the estimates. `skewness`: float64[S], that of the estimates.
    `critical`: float64[S], the |t| of each that chance alone exceeds for any of all S in 5 % of cases. `reach`:
    float64[S], the |t| that it exceeds in 5 % of cases for this one. `before`: the same estimates judged by what the
    side before shows of chance alone (`Before`); None where there is no such side.
    """

    standard_error: np.ndarray
    skewness: np.ndarray
    critical: np.ndarray
    reach: np.ndarray
    before: Before | None = None

    def exceeds(self, estimates: np.ndarray) -> np.ndarray:
        """Which estimates differ from zero at a family-wise error of 5 %, with and without skewness."""
        # Estimates that are the same in every block differ from zero beyond doubt, unless they are zero.
        certain = (self.standard_error == 0) & (estimates != 0)
        statistic = estimates / np.where(self.standard_error > 0, self.standard_error, 1.0)
        corrected = _straightened(statistic, self.skewness)
        exceeding = certain | (np.minimum(np.abs(statistic), np.abs(corrected)) > self.critical)
        return exceeding if self.before is None else exceeding | self.before.exceeds(estimates)

    def intervals(self, estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the 95 % interval of each estimate: the plain and the skew one together.

        The tail of a loaded system is skew: a plain t interval misses on the high side (Hall 1992).
        """
        skew_low = _bent(-self.reach, self.skewness)
        skew_high = _bent(self.reach, self.skewness)
        low = estimates - self.standard_error * np.maximum(skew_high, self.reach)
        high = estimates - self.standard_error * np.minimum(skew_low, -self.reach)
        if self.before is None:
            return low, high
        own_low, own_high = self.before.intervals(estimates)
        # What only the spread of both sides shows to differ from zero has the interval of that.
        is_only_here = ((low > 0) | (high < 0)) & (own_low <= 0) & (own_high >= 0)
        is_told = (self.before.standard_error > 0) & ~is_only_here
        return np.where(is_told, own_low, low), np.where(is_told, own_high, high)


@dataclass(frozen=True)
class Before:
    """What chance makes where nothing has changed: the side before shows it, and it holds for both sides then.

    An incident swings slowly by itself, as a queue does that grows for a minute. Whether it is one, and how much longer
    its time took than it would have, is asked of the time before, in which there was none.
    `standard_error`, `skewness`, `critical`, `reach`: float64[S] as of `Uncertainty`, but of the chance itself, one
    more draw of which the side after is: where it is skew to the right, it reaches further there. Errors of zero say
    nothing. `test_error`: the spread that a finding must exceed, no less than `standard_error`.
    """

    standard_error: np.ndarray
    skewness: np.ndarray
    critical: np.ndarray
    reach: np.ndarray
    test_error: np.ndarray

    def exceeds(self, estimates: np.ndarray) -> np.ndarray:
        """Which estimates are more than the side before makes by chance."""
        is_known = self.test_error > 0
        low, high = _reached(self.critical, self.skewness)
        statistic = estimates / np.where(is_known, self.test_error, np.inf)
        return is_known & ((statistic > high) | (statistic < low))

    def intervals(self, estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the 95 % interval of how much longer this time took than it would have."""
        low, high = _reached(self.reach, self.skewness)
        return estimates - self.standard_error * high, estimates - self.standard_error * low


@dataclass(frozen=True)
class SlicedSide:
    """One side of a comparison by slices of time: M slices, S estimates.

    `contributions`: float64[M, S], what each slice adds to the estimates; columns sum to zero. `unit_counts`: int64[M].
    `block_counts`: float64[S], how many independent blocks the time of each column makes; below `FEWEST_BLOCKS` it is
    cut into so many, and a design effect says by how much the variance is larger than theirs.
    """

    contributions: np.ndarray
    unit_counts: np.ndarray
    block_counts: np.ndarray

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variance, third moment and degrees of freedom of each estimate: float64[S] each."""
        variance, cubes, freedom = (np.zeros(len(self.block_counts)) for _ in range(3))
        counts = np.maximum(blocks.FEWEST_BLOCKS, self.block_counts.astype(np.int64))
        for count in np.unique(counts):
            columns = np.flatnonzero(counts == count)
            parts = self.occupied(int(count), columns)
            held = max(len(parts), 2)
            scale = np.sqrt(held / (held - 1) * np.maximum(count / self.block_counts[columns], 1.0))
            variance[columns] = ((parts * scale) ** 2).sum(axis=0)
            cubes[columns] = ((parts * scale) ** 3).sum(axis=0)
            freedom[columns] = held - 1
        return variance, cubes, freedom

    def occupied(self, count: int, columns: np.ndarray) -> np.ndarray:
        """Contributions of so many blocks of time, less those that hold no units."""
        present = blocks.merged(self.unit_counts, count) > 0
        return blocks.merged(self.contributions[:, columns], count)[present]


def from_slices(sides: list[SlicedSide], before: BeforeSide | None = None, *, places: float = 1.0) -> Uncertainty:
    """Uncertainty of sums of independent estimates, each judged by blocks as long as its own memory needs.

    A queue that swings slowly says nothing of a stage that does not. Degrees of freedom are Satterthwaite's (1946):
    a long baseline adds little to the variance, and takes little from what a short window shows.
    `before`: which side is the one before, where that is enough to judge by. `places`: chance had so many tries.
    """
    moments = [side.moments() for side in sides]
    chance = _family_chance(sides) / max(places, 1.0)
    variance = sum(part for part, _, _ in moments)
    cubes = np.sum([part for _, part, _ in moments], axis=0)
    spread = sum(part**2 / freedom for part, _, freedom in moments)
    fewest = np.min([freedom for _, _, freedom in moments], axis=0)
    freedom = np.divide(variance**2, spread, out=fewest.copy(), where=spread > 0)
    judged = _uncertainty(np.sqrt(variance), cubes, np.floor(freedom + 1e-9).astype(np.int64), chance)
    return judged if before is None else replace(judged, before=_judged_before(sides, moments, before, chance))


@dataclass(frozen=True)
class BeforeSide:
    """The side before: its `number`, and how many times as long as the other side it is (`length_ratio`).

    Or how many times as many units it has, where that is more: the mean of a few differs more. `scale`: float64[S], by
    how much the estimates after are to be shrunk to be as large as those before, at most 1.
    """

    number: int
    length_ratio: float
    scale: np.ndarray


def shrinking(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """By how much means after are to be shrunk to be as large as those before, at most 1; 1 where neither is known."""
    scale = np.divide(before, after, out=np.ones(len(after)), where=(after > 0) & (before > 0))
    return np.minimum(scale, 1.0)


def _judged_before(
    sides: list[SlicedSide], moments: Sequence[tuple[np.ndarray, ...]], before: BeforeSide, chance: float
) -> Before:
    """The spread that both sides would have if the one after were as the one before.

    A time as long as the side after would spread by the variance of the side before times the ratio of their lengths,
    and not by less than its own slices do as if they were independent: the time before may lack the longest of what it
    has. How much longer the time after took than it would have is another matter: what made it longer spreads too, and
    is no chance. So for the interval its slices are scaled to the mean before; relative to the mean they spread alike.
    Of estimates for which the side before has too few independent blocks to show it, nothing is said.
    """
    variance, cubes, freedom = moments[before.number]
    after = sides[1 - before.number]
    ratio = before.length_ratio
    apart = (after.contributions**2).sum(axis=0)
    is_shown = sides[before.number].block_counts >= blocks.FEWEST_BLOCKS
    test_error = np.sqrt(variance + np.maximum(variance * ratio, apart)) * is_shown
    error = np.sqrt(variance + np.maximum(variance * ratio, apart * before.scale**2)) * is_shown
    # A mean of n has the third moment of one over n squared.
    skewness = _skewness(cubes * (ratio**2 - 1), error, freedom)
    numbers = freedom.astype(int).tolist()
    critical, reach = ([student_quantile(level, each) for each in numbers] for level in (1 - chance, CONFIDENCE))
    return Before(error, skewness, np.array(critical), np.array(reach), test_error)


@dataclass(frozen=True)
class WindowChance:
    """Chance between windows, as `Uncertainty` is asked."""

    before: Before

    @property
    def standard_error(self) -> np.ndarray:
        """Spread of one more window less the mean of the others."""
        return self.before.standard_error

    def exceeds(self, estimates: np.ndarray) -> np.ndarray:
        """Which estimates are more than windows differ by chance; any, where they do not differ at all."""
        certain = (self.before.standard_error == 0) & (estimates != 0)
        return certain | self.before.exceeds(estimates)

    def intervals(self, estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the 95 % interval of each estimate."""
        return self.before.intervals(estimates)


def from_windows(window_means: np.ndarray, *, places: float = 1.0) -> WindowChance:
    """Chance of one more window against K like it: float64[K, S] means, t with K - 1 degrees of freedom.

    The standard error is sd * sqrt(1 + 1/K): that of a new window minus the mean of K windows. Its skewness is that of
    a window: the mean of many has nearly none.
    """
    count = len(window_means)
    deviations = window_means - window_means.mean(axis=0)
    parts = deviations * np.sqrt((1 + 1 / count) / (count - 1))
    error = np.sqrt((parts**2).sum(axis=0))
    freedom = np.full(parts.shape[1], count - 1)
    cubes = (deviations**3).sum(axis=0) * count / ((count - 1) * (count - 2))
    chance = _least_chance(parts) / max(places, 1.0)
    numbers = freedom.tolist()
    critical, reach = ([student_quantile(level, each) for each in numbers] for level in (1 - chance, CONFIDENCE))
    return WindowChance(Before(error, _skewness(cubes, error, freedom), np.array(critical), np.array(reach), error))


def _skewness(cubes: np.ndarray, error: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    skewness = np.divide(cubes, error**3, out=np.zeros_like(error), where=error > 0)
    # So few parts do not show a third moment.
    skewness[freedom < _SKEWNESS_FREEDOM] = 0.0
    return np.clip(skewness, -_MOST_SKEW, _MOST_SKEW)


def _reached(reach: np.ndarray, skewness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far chance reaches down and up, in standard errors (Cornish and Fisher 1938); up no less than evenly."""
    bent = skewness * (reach**2 - 1) / 6
    return np.minimum(bent - reach, -reach / 2), np.maximum(reach + bent, reach)


def _uncertainty(error: np.ndarray, cubes: np.ndarray, freedom: np.ndarray, least_chance: float) -> Uncertainty:
    numbers = freedom.tolist()
    critical = np.array([student_quantile(1 - least_chance, number) for number in numbers])
    return Uncertainty(
        error,
        _skewness(cubes, error, freedom),
        critical,
        np.array([student_quantile(CONFIDENCE, each) for each in numbers]),
    )


def _family_chance(sides: list[SlicedSide]) -> float:
    everything = np.arange(len(sides[0].block_counts))
    count = min(blocks.BLOCK_LIMIT, *(len(side.contributions) for side in sides))
    return _least_chance(np.concatenate([side.occupied(count, everything) for side in sides]))


def _least_chance(parts: np.ndarray) -> float:
    """The chance below which, of all estimates together, the least likely falls in 5 % of cases.

    Simulated for normal estimates that are correlated as their parts are: float64[K, S].
    """
    live = (parts**2).sum(axis=0) > 0
    if not live.any():
        return 1 - CONFIDENCE
    shape = parts[:, live] / np.sqrt((parts[:, live] ** 2).sum(axis=0))
    normal = np.random.default_rng(_SEED).standard_normal((_DRAWS, len(shape))) @ shape
    largest = float(np.quantile(np.abs(normal).max(axis=1), CONFIDENCE))
    # A single estimate needs no simulation to know its bound; the family's can only be stricter.
    return min(1 - CONFIDENCE, erfc(largest / sqrt(2)))


def _straightened(statistic: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Hall's monotone transformation of a studentised mean, which takes its skewness out."""
    return statistic + skewness * statistic**2 / 3 + skewness**2 * statistic**3 / 27 + skewness / 6


def _bent(normal: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """The inverse of `_straightened`."""
    safe = np.where(np.abs(skewness) > 1e-9, skewness, 1.0)
    bent = 3 / safe * (np.cbrt(1 + safe * (normal - safe / 6)) - 1)
    return np.where(np.abs(skewness) > 1e-9, bent, normal)


@cache
def student_quantile(confidence: float, freedom: int) -> float:
    """The t with `P(|T| <= t) = confidence` for `freedom` degrees of freedom, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if student_two_sided(middle, freedom) > 1 - confidence else (low, middle)
    return (low + high) / 2


def student_two_sided(statistic: float, freedom: int) -> float:
    """`P(|T| > statistic)` for Student's t.

    With t = sqrt(freedom) * tan(angle) the density is proportional to cos(angle)**(freedom - 1), a smooth
    function on a finite interval that Gauss-Legendre quadrature integrates to 12 digits.
    """
    angle = np.arctan(abs(statistic) / np.sqrt(freedom))
    return float(_cosine_power(float(angle), np.pi / 2, freedom) / _cosine_power(0.0, np.pi / 2, freedom))


def adjusted_p_values(p_values: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg: the false discovery rate at which each test is accepted (same order)."""
    count = len(p_values)
    order = np.argsort(p_values)[::-1]
    scaled = p_values[order] * count / np.arange(count, 0, -1)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(200)


def _cosine_power(start: float, end: float, freedom: int) -> float:
    points, weights = _quadrature()
    angles = (end - start) / 2 * points + (end + start) / 2
    return float((end - start) / 2 * (weights * np.cos(angles) ** (freedom - 1)).sum())
