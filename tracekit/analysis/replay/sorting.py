"""Numbers brought into order without comparing them: what repeats in millions of operations is counted instead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition import Array

# A table of all numbers between the least and the largest is no larger than this for each that there is.
_ROOM = 8


def bounds(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Where each run of rows that agree in all columns begins, and the end."""
    changes = np.zeros(len(columns[0]), np.bool_)
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.concatenate([[0], np.flatnonzero(changes), [len(changes)]])


def dense(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Numbers from 0, in their order, without gaps; and how many there are."""
    if not len(numbers):
        return numbers, 0
    least = int(numbers.min())
    span = int(numbers.max()) - least + 1
    if span > _ROOM * len(numbers) + 2**16:
        values, found = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), len(values)
    is_there = np.zeros(span, np.bool_)
    is_there[numbers - least] = True
    return (np.cumsum(is_there) - 1)[numbers - least], int(is_there.sum())


def sorted_by_number(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the order of their number, which counts from 0, and where each number begins among them."""
    first = np.zeros(int(numbers.max(initial=-1)) + 2, np.int64)
    np.cumsum(np.bincount(numbers), out=first[1:])
    rows = np.empty(len(numbers), np.int64)
    _scatter(numbers, first[:-1].copy(), rows)
    return rows, first


@kernel
def _scatter(numbers: Array, free: Array, rows: Array) -> None:
    for row in range(len(numbers)):
        rows[free[numbers[row]]] = row
        free[numbers[row]] += 1
