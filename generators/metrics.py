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
    """`gauge`, `sum` (cumulative, monotonic) or `histogram` (cumulative, explicit bounds)."""
    scope: str
    resource: int
    start_ns: int
    time_ns: np.ndarray
    values: np.ndarray
    """gauge, sum: one value a reading. histogram: the sum of the observations at each reading."""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    description: str = ""
    bounds: tuple[float, ...] = ()
    bucket_counts: np.ndarray | None = None
    """histogram: one row a reading, one column a bucket (one more than bounds)."""
    extremes: np.ndarray | None = None
    """histogram: smallest and largest observation so far, one row a reading."""

    def counts(self) -> np.ndarray:
        """histogram: how many observations each reading has."""
        assert self.bucket_counts is not None
        return self.bucket_counts.sum(axis=1)


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
