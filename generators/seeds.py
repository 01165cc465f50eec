"""Random numbers by purpose: a draw added for one purpose never shifts those of another.

A run and its counterfactual use the same seed, so the same request arrives at the same instant with the same
size and the same luck in both; what differs between them is the fault.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The random generator of one purpose (`"arrivals"`, `"auth"`) under a seed, independent of others."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(purpose.encode())])))


def lognormal_ns(generator: np.random.Generator, count: int, *, median_ms: float, sigma: float) -> np.ndarray:
    """`count` log-normal durations in whole nanoseconds around a median; zeros where the median is zero."""
    draws = generator.lognormal(0.0, sigma, count)
    return np.rint(draws * median_ms * 1e6).astype(np.int64)


def identifiers(seed: int, purpose: str, count: int) -> np.ndarray:
    """`count` non-zero 64-bit identifiers (uint64), the same for the same seed and purpose."""
    return stream(seed, purpose).integers(1, 2**64, count, dtype=np.uint64)
