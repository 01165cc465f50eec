"""The units that enter a question, as arrays, and the bands of them that are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SELECTION, BASELINE = 0, 1
"""Sides of a comparison: the selection, and the baseline selection where there is one."""


@dataclass(frozen=True)
class MeasuredUnits:
    """Units of one side with their metric: parallel arrays, ordered by metric, then unit.

    Times are int64 nanoseconds; unknown token counts are -1; ids have the width that the store gives them.
    """

    unit_id: np.ndarray
    start_ns: np.ndarray
    value_ns: np.ndarray
    class_id: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray

    @classmethod
    def of_side(cls, columns: dict[str, np.ndarray], side: int) -> MeasuredUnits:
        """The units of one side of `columns`: those of `tail/measured_units.sql`."""
        chosen = np.flatnonzero(columns["side"] == side)
        order = chosen[np.lexsort((columns["unit_id"][chosen], columns["value_ns"][chosen]))]
        return cls(**{name: np.asarray(columns[name][order]) for name in cls.__dataclass_fields__})

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.unit_id)

    @property
    def duration_ns(self) -> int:
        """Time from the first start to the last, plus one nanosecond; 0 without units."""
        return int(self.start_ns.max() - self.start_ns.min()) + 1 if self.count else 0


@dataclass(frozen=True)
class Band:
    """Units of one side whose metric lies between two of its quantiles, both ends included.

    `first` and `last` are positions in the units ordered by metric: the band is `[first, last)`.
    `lower` and `upper` are the quantiles; 0 and 1 leave that end open.
    """

    lower: float
    upper: float
    first: int
    last: int

    @property
    def count(self) -> int:
        """Number of units in the band."""
        return self.last - self.first


def band(units: MeasuredUnits, *, lower: float, upper: float = 1.0) -> Band:
    """The units between two quantiles of the metric; equal values stay together.

    A quantile is the smallest observed value at or below which at least that share of the units lies.
    """
    if units.count == 0:
        return Band(lower, upper, 0, 0)
    low, high = quantile_ns(units.value_ns, lower), quantile_ns(units.value_ns, upper)
    first = int(np.searchsorted(units.value_ns, low, side="left"))
    last = int(np.searchsorted(units.value_ns, high, side="right"))
    return Band(lower, upper, first, last)


def quantile_ns(ordered_ns: np.ndarray, quantile: float) -> int:
    """The smallest value of an ordered array at or below which at least this share of the values lies."""
    # The tolerance keeps 0.99 * 300 = 297.00000000000006 from meaning the 298th value.
    rank = math.ceil(quantile * len(ordered_ns) - 1e-9)
    return int(ordered_ns[min(max(rank, 1), len(ordered_ns)) - 1])


def clock_resolution_ns(sides: list[MeasuredUnits]) -> int:
    """The largest power of ten, up to a second, that all starts and durations are multiples of."""
    times = np.concatenate([part for units in sides for part in (units.start_ns, units.value_ns)])
    resolution = 1
    while len(times) and resolution < 1_000_000_000 and not (times % (10 * resolution)).any():
        resolution *= 10
    return resolution
