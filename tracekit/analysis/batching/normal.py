"""What a stage normally takes, and by how much each request exceeds it."""

from __future__ import annotations

import numpy as np

from tracekit.partition import Array

ENOUGH = 20
"""Fewer requests of a size than this say nothing of what is normal for it."""

_SPREAD = 4.0
"""A time above the median by more than so many standard deviations (of the middle half) is not normal."""

_MAD_TO_SD = 1.4826


def excess_ns(taken_ns: Array, tokens: Array, is_normal: Array | None) -> Array:
    """By how much each request's time in a stage exceeds the normal (int64, never negative).

    Requests are compared with those of about as many tokens (within a factor of two). `is_normal` says who is known to
    have been served normally: then a time becomes the one at the same place in the order of those. Without it, times
    far above the median become the median.
    """
    size = np.log2(np.maximum(tokens, 1)).astype(np.int64)
    found = np.zeros(len(taken_ns), np.int64)
    for one in np.unique(size):
        alike = size == one
        normal = taken_ns[alike if is_normal is None else alike & is_normal]
        if len(normal) < ENOUGH:
            normal = taken_ns if is_normal is None else taken_ns[is_normal]
        if len(normal):
            found[alike] = _above(taken_ns[alike], normal, is_known=is_normal is not None)
    return found


def _above(taken_ns: Array, normal_ns: Array, *, is_known: bool) -> Array:
    if is_known:
        place = (np.argsort(np.argsort(taken_ns, kind="stable"), kind="stable") + 0.5) / len(taken_ns)
        return np.maximum(taken_ns - np.quantile(normal_ns, place).astype(np.int64), 0)
    median = np.median(normal_ns)
    spread = _MAD_TO_SD * np.median(np.abs(normal_ns - median))
    is_far = taken_ns > median + _SPREAD * spread
    return np.where(is_far, np.maximum(taken_ns - int(median), 0), 0)
