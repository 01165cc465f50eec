"""Which units are slow, and which they are compared with."""

from __future__ import annotations

BODY = (0.4, 0.6)
"""Quantiles of the middle fifth: the baseline where no other units are named."""

DEFAULT_QUANTILES = (0.99, 0.95, 0.9, 0.5)
"""What slow means where no quantile was asked for: the first that leaves MINIMUM_UNITS on both sides."""

MINIMUM_UNITS = 10
"""Fewer units than this on a side say nothing about others."""
