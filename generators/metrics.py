"""Metric series as columns: readings of gauges, counters and histograms over simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from generators.spans import Scalar


@dataclass(frozen=True)
class Series:
    """One metric with one set of attributes from one resource, read at several times."""

    name: str
    unit: str
    kind: str
    """`gauge`, `sum` (cumulative, monotonic), `histogram` (cumulative, explicit bounds) or
    `exponential_histogram` (cumulative).
    """
    scope: str
    resource: int
    start_ns: int
    time_ns: np.ndarray
    values: np.ndarray
    """gauge, sum: one value a reading. Histograms: the sum of the observations at each reading."""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    description: str = ""
    bounds: tuple[float, ...] = ()
    bucket_counts: np.ndarray | None = None
    """Histograms: one row a reading, one column a bucket (explicit ones have one more than bounds)."""
    extremes: np.ndarray | None = None
    """Histograms: smallest and largest observation so far, one row a reading."""
    scale: int = 0
    """exponential_histogram: bucket i holds values above base ** i up to base ** (i + 1), base = 2 ** (2 ** -scale)."""
    offset: int = 0
    """exponential_histogram: number of the bucket in the first column."""
    zero_counts: np.ndarray | None = None
    """exponential_histogram: observations that are zero, one a reading."""

    def counts(self) -> np.ndarray:
        """Histograms: how many observations each reading has."""
        assert self.bucket_counts is not None
        positive = self.bucket_counts.sum(axis=1)
        return positive if self.zero_counts is None else positive + self.zero_counts


def histogram(
    name: str, unit: str, *, scope: str, resource: int, start_ns: int, time_ns: np.ndarray,
    observed_at_ns: np.ndarray, observations: np.ndarray, bounds: tuple[float, ...],
    attributes: Mapping[str, Scalar] | None = None,
) -> Series:  # fmt: skip
    """A cumulative histogram of observations, as read at `time_ns`; a value on a bound counts below it.

    Readings before the first observation are left out: a histogram without observations has no extremes.
    """
    order = np.argsort(observed_at_ns, kind="stable")
    values = observations[order]
    seen = np.searchsorted(observed_at_ns[order], time_ns, side="right")
    time_ns, seen = time_ns[seen > 0], seen[seen > 0]
    hits = np.searchsorted(np.asarray(bounds), values, side="left")[:, None] == np.arange(len(bounds) + 1)
    cumulative = np.vstack([np.zeros((1, len(bounds) + 1), np.int64), np.cumsum(hits, axis=0)])
    totals = np.concatenate([[0.0], np.cumsum(values)])
    low, high = np.minimum.accumulate(values), np.maximum.accumulate(values)
    return Series(
        name, unit, "histogram", scope, resource, start_ns, time_ns, totals[seen], attributes or {}, "",
        bounds, cumulative[seen], np.stack([low[seen - 1], high[seen - 1]], axis=1),
    )  # fmt: skip


MOST_BUCKETS = 160
"""Buckets of an exponential histogram at most, as in the OpenTelemetry SDKs."""
FINEST_SCALE = 20


def exponential_histogram(
    name: str, unit: str, *, scope: str, resource: int, start_ns: int, time_ns: np.ndarray,
    observed_at_ns: np.ndarray, observations: np.ndarray, attributes: Mapping[str, Scalar] | None = None,
) -> Series:  # fmt: skip
    """A cumulative exponential histogram of observations (zero or positive), as read at `time_ns`.

    The scale is the finest at which the whole run fits into 160 buckets; it stays the same over all readings.
    Readings before the first observation are left out.
    """
    order = np.argsort(observed_at_ns, kind="stable")
    values = observations[order]
    seen = np.searchsorted(observed_at_ns[order], time_ns, side="right")
    time_ns, seen = time_ns[seen > 0], seen[seen > 0]
    scale = _finest_scale(values[values > 0])
    index, offset, width = _bucket_numbers(values, scale)
    hits = index[:, None] == np.arange(width)
    cumulative = np.vstack([np.zeros((1, width), np.int64), np.cumsum(hits, axis=0)])
    zeros, totals = (np.concatenate([[0], np.cumsum(part)]) for part in (values == 0, values))
    low, high = np.minimum.accumulate(values), np.maximum.accumulate(values)
    return Series(
        name, unit, "exponential_histogram", scope, resource, start_ns, time_ns, totals[seen].astype(np.float64),
        attributes or {}, "", (), cumulative[seen], np.stack([low[seen - 1], high[seen - 1]], axis=1), scale, offset,
        zeros[seen],
    )  # fmt: skip


def _finest_scale(positive: np.ndarray) -> int:
    """The finest scale at which these values fit into the buckets."""
    for scale in range(FINEST_SCALE, -11, -1):
        if positive.size == 0 or np.ptp(_indexes(positive, scale)) < MOST_BUCKETS:
            return scale
    return -10


def _indexes(positive: np.ndarray, scale: int) -> np.ndarray:
    """Number of the bucket of each value; a value on a bound counts below it."""
    return np.ceil(np.log2(positive) * 2.0**scale).astype(np.int64) - 1


def _bucket_numbers(values: np.ndarray, scale: int) -> tuple[np.ndarray, int, int]:
    """Column of each value (-1 for zero), number of the first column's bucket, columns."""
    numbers = np.full(values.size, -1, np.int64)
    is_positive = values > 0
    if not is_positive.any():
        return numbers, 0, 0
    found = _indexes(values[is_positive], scale)
    offset = int(found.min())
    numbers[is_positive] = found - offset
    return numbers, offset, int(found.max()) - offset + 1
