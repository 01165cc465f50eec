"""Whole nanoseconds out of exact fractions, without losing or gaining one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def rounded_quotient(numerator: int, denominator: int) -> int:
    """`numerator / denominator` to the nearest integer, halves up; exact for integers of any size."""
    return (2 * numerator + denominator) // (2 * denominator)


def rounded_parts(numerators: Sequence[int], denominator: int) -> list[int]:
    """Whole numbers near `numerator / denominator` that sum to the rounded quotient of the whole sum.

    Cumulative rounding: part k is the difference of two neighbouring rounded running sums, so each part is
    within one of its exact value and the parts always sum to the rounded quotient of the sum.
    """
    return [after - before for before, after in pairwise(_running(numerators, denominator))]


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """`total` split in proportion to `weights` into whole numbers that sum to it exactly.

    Raises `ValueError` where the weights sum to zero and the total does not.
    """
    weight = sum(weights)
    if weight == 0:
        if total != 0:
            raise ValueError(f"{total} cannot be split: all weights are zero")
        return [0] * len(weights)
    sign = 1 if weight > 0 else -1
    return rounded_parts([sign * total * part for part in weights], sign * weight)


def _running(numerators: Sequence[int], denominator: int) -> list[int]:
    sums = [0]
    for numerator in numerators:
        sums.append(sums[-1] + numerator)
    return [rounded_quotient(value, denominator) for value in sums]
