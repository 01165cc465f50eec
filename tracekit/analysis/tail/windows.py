"""A baseline of many windows like the selection: the sharpest judge of what is chance between windows."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.measured import MeasuredUnits, quantile_ns
from tracekit.analysis.tail.cohorts import Cohort

MINIMUM_WINDOWS = 20
"""Fewer comparable windows than this do not show how much windows differ by chance."""

_COMPARABLE_SHARE = 0.5


def window_cohort(selection: MeasuredUnits, baseline: MeasuredUnits, *, quantile: float) -> Cohort | None:
    """The tail of each baseline window that is comparable with the selection, or None for too few windows.

    Windows are as long as the selection and follow each other from the first baseline unit. They are
    comparable when they do not overlap the selection in time and hold at least half and at most twice as many
    units. Each window's tail is taken at its own quantile, as the selection's is.
    """
    length = selection.duration_ns
    if not selection.count or baseline.duration_ns < MINIMUM_WINDOWS * length:
        return None
    numbers = (baseline.start_ns - baseline.start_ns.min()) // length
    usable = _comparable_windows(selection, baseline, numbers, length)
    if len(usable) < MINIMUM_WINDOWS:
        return None
    tails = _tails(baseline, numbers, usable, quantile)
    positions = np.concatenate(tails)
    bins = np.repeat(np.arange(len(tails)), [len(tail) for tail in tails])
    return Cohort(baseline, positions, bins, None)


def _comparable_windows(
    selection: MeasuredUnits, baseline: MeasuredUnits, numbers: np.ndarray, length: int
) -> np.ndarray:
    expected = selection.count
    counts = np.bincount(numbers)
    first = int(baseline.start_ns.min())
    starts = first + np.arange(len(counts)) * length
    apart = (starts + length <= selection.start_ns.min()) | (starts > selection.start_ns.max())
    # The last window is cut short by the end of the data.
    whole = starts + length <= first + baseline.duration_ns
    alike = (counts >= _COMPARABLE_SHARE * expected) & (counts <= expected / _COMPARABLE_SHARE)
    return np.flatnonzero(apart & whole & alike)


def _tails(baseline: MeasuredUnits, numbers: np.ndarray, windows: np.ndarray, quantile: float) -> list[np.ndarray]:
    """Positions of each window's units at or above its own quantile."""
    # Units are ordered by metric, and a stable sort keeps that order inside each window.
    by_window = np.argsort(numbers, kind="stable")
    edges = np.searchsorted(numbers[by_window], np.stack([windows, windows + 1]))
    members = [by_window[first:last] for first, last in edges.T]
    thresholds = [quantile_ns(baseline.value_ns[positions], quantile) for positions in members]
    return [
        positions[baseline.value_ns[positions] >= threshold]
        for positions, threshold in zip(members, thresholds, strict=True)
    ]
