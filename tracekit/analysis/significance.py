"""Student intervals and the max-T test over all stages at once, without a statistics package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

CONFIDENCE = 0.95
_DRAWS = 4000
_SKEWNESS_FREEDOM = 9
_SEED = 20_241_107
"""The critical value is simulated with a fixed seed: the same data give the same answer."""


@dataclass(frozen=True)
class Uncertainty:
    """Spread of S estimates and how to judge them.

    `standard_error`: float64[S], in the unit of the estimates. `skewness`: float64[S], that of the estimates.
    `freedom`: degrees of freedom. `critical`: the largest |t| over all S that chance alone exceeds in 5 % of
    cases. `reach`: the |t| that chance exceeds in 5 % of cases for one estimate. `interval_error`: float64[S], the
    spread that intervals must cover where it is more than that of the test; None where it is the same.
    """

    standard_error: np.ndarray
    skewness: np.ndarray
    freedom: int
    critical: float
    reach: float
    interval_error: np.ndarray | None = None

    def exceeds(self, estimates: np.ndarray) -> np.ndarray:
        """Which estimates differ from zero at a family-wise error of 5 %, with and without skewness."""
        # Estimates that are the same in every block differ from zero beyond doubt, unless they are zero.
        certain = (self.standard_error == 0) & (estimates != 0)
        statistic = estimates / np.where(self.standard_error > 0, self.standard_error, 1.0)
        corrected = _straightened(statistic, self.skewness)
        return certain | (np.minimum(np.abs(statistic), np.abs(corrected)) > self.critical)

    def intervals(self, estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the 95 % interval of each estimate: the plain and the skew one together.

        The tail of a loaded system is skew: a plain t interval misses on the high side (Hall 1992).
        """
        skew_low = _bent(np.full_like(estimates, -self.reach), self.skewness)
        skew_high = _bent(np.full_like(estimates, self.reach), self.skewness)
        error = self.standard_error if self.interval_error is None else self.interval_error
        low = estimates - error * np.maximum(skew_high, self.reach)
        high = estimates - error * np.minimum(skew_low, -self.reach)
        return low, high


def from_blocks(contributions: list[np.ndarray], design_effect: float = 1.0) -> Uncertainty:
    """Uncertainty of a sum of independent estimates from their block contributions.

    Each array is float64[K, S] with columns that sum to zero (`influence_sums`); arrays of different
    selections are independent of each other. Degrees of freedom are those of the side with the fewest
    blocks, which is the lower bound of Welch's. `design_effect`: by how much the variance is larger than that of
    independent blocks.
    """
    stacked = np.concatenate([part * np.sqrt(len(part) / (len(part) - 1)) for part in contributions])
    return _uncertainty(stacked * np.sqrt(design_effect), freedom=min(len(part) for part in contributions) - 1)


def widened(uncertainty: Uncertainty, other: Uncertainty) -> Uncertainty:
    """The same test, with intervals that also reach as far as the spread of `other` says.

    Windows before show what is chance in health; a fault may have a spread of its own.
    """
    own = other.standard_error * other.reach / uncertainty.reach
    return replace(uncertainty, interval_error=np.maximum(uncertainty.standard_error, own))


def from_windows(window_means: np.ndarray) -> Uncertainty:
    """Uncertainty of one more window against K like it: float64[K, S] means, t with K - 1 degrees of freedom.

    The standard error is sd * sqrt(1 + 1/K): that of a new window minus the mean of K windows.
    """
    count = len(window_means)
    centred = window_means - window_means.mean(axis=0)
    return _uncertainty(centred * np.sqrt((1 + 1 / count) / (count - 1)), freedom=count - 1)


def _uncertainty(contributions: np.ndarray, *, freedom: int) -> Uncertainty:
    error = np.sqrt((contributions**2).sum(axis=0))
    cubes = (contributions**3).sum(axis=0)
    skewness = np.divide(cubes, error**3, out=np.zeros_like(error), where=error > 0)
    if freedom < _SKEWNESS_FREEDOM:
        # So few parts do not show a third moment.
        skewness = np.zeros_like(error)
    critical = _max_critical(contributions, error, freedom)
    return Uncertainty(error, skewness, freedom, critical, student_quantile(CONFIDENCE, freedom))


def _straightened(statistic: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Hall's monotone transformation of a studentised mean, which takes its skewness out."""
    return statistic + skewness * statistic**2 / 3 + skewness**2 * statistic**3 / 27 + skewness / 6


def _bent(normal: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """The inverse of `_straightened`."""
    safe = np.where(np.abs(skewness) > 1e-9, skewness, 1.0)
    bent = 3 / safe * (np.cbrt(1 + safe * (normal - safe / 6)) - 1)
    return np.where(np.abs(skewness) > 1e-9, bent, normal)


def _max_critical(contributions: np.ndarray, error: np.ndarray, freedom: int) -> float:
    """The 95 % quantile of max |t| of a multivariate t with the correlation of the contributions."""
    live = error > 0
    if not live.any():
        return student_quantile(CONFIDENCE, freedom)
    shape = contributions[:, live]
    shape = shape / np.sqrt((shape**2).sum(axis=0))
    random = np.random.default_rng(_SEED)
    normal = random.standard_normal((_DRAWS, len(shape))) @ shape
    scale = np.sqrt(random.chisquare(freedom, _DRAWS) / freedom)
    largest = np.abs(normal).max(axis=1) / scale
    # A single estimate needs no simulation to know its bound; the family's can only be wider.
    return max(float(np.quantile(largest, CONFIDENCE)), student_quantile(CONFIDENCE, freedom))


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
