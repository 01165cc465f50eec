"""Quantiles of values of which only the buckets are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BucketQuantile:
    """A quantile known from buckets: an `estimate`, and the values between which it certainly lies.

    low, high: None where the bucket of the quantile is open at that end; the estimate is then its other end.
    """

    estimate: float
    low: float | None
    high: float | None


def bucket_quantiles(
    low: np.ndarray, high: np.ndarray, count: np.ndarray, quantiles: Sequence[float]
) -> list[BucketQuantile]:
    """Quantiles of values counted in buckets, which may overlap (senders with bounds of their own).

    low, high: float64[bucket], ends of the buckets, infinite where one is open. count: how many values, more than 0
    in all. The k-th smallest value is no less than the k-th smallest of all lower ends and no more than the k-th
    smallest of all upper ends: that is the certain range. The estimate spreads the values of a bucket evenly over it,
    as Prometheus' `histogram_quantile` does; a bucket without a lower end begins at 0 where its upper end is positive.

    >>> ends, counts = np.array([0.0, 0.1, 0.2]), np.array([10, 80, 10])
    >>> bucket_quantiles(ends, ends + 0.1, counts, [0.5])[0].estimate
    0.15000000000000002
    """
    total = int(count.sum())
    ranks = [min(max(int(np.ceil(quantile * total)), 1), total) for quantile in quantiles]
    lows, highs = _ranked(low, count, ranks), _ranked(high, count, ranks)
    estimates = _estimates(low, high, count, [quantile * total for quantile in quantiles])
    return [
        BucketQuantile(float(np.clip(estimate, least, largest)), _finite(least), _finite(largest))
        for estimate, least, largest in zip(estimates, lows, highs, strict=True)
    ]


def _ranked(ends: np.ndarray, count: np.ndarray, ranks: list[int]) -> np.ndarray:
    """For each rank k the k-th smallest of the ends, each as often as its bucket has values."""
    order = np.argsort(ends, kind="stable")
    reached = np.cumsum(count[order])
    ranked: np.ndarray = ends[order][np.searchsorted(reached, ranks)]
    return ranked


def _estimates(low: np.ndarray, high: np.ndarray, count: np.ndarray, wanted: list[float]) -> np.ndarray:
    begin = np.where(np.isneginf(low), np.where(high > 0, 0.0, high), low)
    end = np.where(np.isposinf(high), begin, high)
    edges = np.unique(np.concatenate([begin, end]))
    width = np.where(end > begin, end - begin, 1.0)
    inside = np.clip((edges[:, None] - begin) / width, 0.0, 1.0)
    # Values of a bucket without width are all there as soon as it is reached.
    inside = np.where(end > begin, inside, edges[:, None] >= begin)
    return np.interp(wanted, inside @ count, edges)


def _finite(end: float) -> float | None:
    return float(end) if np.isfinite(end) else None
