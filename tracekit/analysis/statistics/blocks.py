"""Blocks of time that are long enough to be taken as independent.

Requests under load are not independent of their neighbours: a test that takes them so finds a "significant"
change between two healthy windows most of the time. The unit of resampling is therefore a block of time, at
least five times as long as the integrated autocorrelation time.
"""

from __future__ import annotations

import numpy as np

SLICE_COUNT = 1024
"""Slices of equal length that the time of a selection is cut into; blocks are made of whole slices."""

BLOCK_LIMIT = 64
"""More blocks than this gain nothing; longer blocks are safer."""

MINIMUM_BLOCKS = 10
"""With fewer blocks nothing follows from a difference that could be chance."""

FEWEST_BLOCKS = 4
"""Time is cut into at least so many blocks; where they are not independent, a design effect says by how much."""

CORRELATION_TIMES_PER_BLOCK = 8
_SOKAL_WINDOW = 5


def slices(start_ns: np.ndarray) -> np.ndarray:
    """Number of the slice of time, 0 to SLICE_COUNT - 1, that each start lies in (int64)."""
    if len(start_ns) == 0:
        return np.zeros(0, dtype=np.int64)
    first = int(start_ns.min())
    width = (int(start_ns.max()) - first) // SLICE_COUNT + 1
    return (start_ns - first) // width


def merged(values: np.ndarray, count: int) -> np.ndarray:
    """Sums over `count` runs of neighbouring slices, as even as whole slices allow; axis 0 is time."""
    edges = np.arange(count) * len(values) // count
    return np.add.reduceat(values, edges, axis=0)


def independent_block_count(series: list[np.ndarray]) -> float:
    """How many independent blocks the time of these series (sums over slices, mean zero) can be cut into.

    The autocorrelation time is taken at several resolutions, because coarse slices show a weak and long
    correlation that noise hides in fine ones, and the longest one counts. At most BLOCK_LIMIT.
    """
    share = max((_correlation_share(values) for values in series), default=0.0)
    if share <= 0:
        return BLOCK_LIMIT
    return min(BLOCK_LIMIT, 1 / (CORRELATION_TIMES_PER_BLOCK * share))


def _correlation_share(values: np.ndarray) -> float:
    resolutions = [SLICE_COUNT >> halvings for halvings in range(4)]
    return max(2 * _one_sided_time(merged(values, count)) / count for count in resolutions)


def _one_sided_time(values: np.ndarray) -> float:
    """Upper estimate of the sum of autocorrelations at lags from 1.

    The sum is taken over a window of five times the integrated time (Sokal's rule), and its standard error
    sqrt((4 window + 2) / length) (Madras and Sokal 1988) is added: a short series shows too little
    correlation.
    """
    centred = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(values))) ** 2
    covariance = np.fft.irfft(spectrum)[: len(values)]
    if covariance[0] <= 0:
        return 0.0
    sums = np.cumsum(covariance[1:] / covariance[0])
    lags = np.arange(1, len(values))
    closed = np.flatnonzero(lags >= _SOKAL_WINDOW * (1 + 2 * sums))
    window = int(closed[0]) if len(closed) else int(np.argmax(sums))
    return float(sums[window]) * (1 + np.sqrt((4 * (window + 1) + 2) / len(values)))
