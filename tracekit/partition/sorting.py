"""A stable sort of row numbers by several integer keys, for use inside compiled kernels.

Most sibling groups have a handful of rows, a few have a million: short runs are sorted by insertion and
then merged from the bottom up, so the worst case stays `O(n log n)` without recursion.
"""

from __future__ import annotations

from tracekit.kernels import kernel
from tracekit.partition.arrays import Array

_RUN = 16


@kernel
def precedes(keys: Array, first: int, second: int) -> bool:
    """Whether row `first` has the greater key: `keys[level, row]`, level 0 the most significant."""
    for level in range(keys.shape[0]):
        if keys[level, first] != keys[level, second]:
            return keys[level, first] > keys[level, second]
    return False


@kernel
def sort_descending(rows: Array, low: int, high: int, spare: Array, keys: Array) -> None:
    """Sort `rows[low:high]` in place, greatest key first; `spare` is scratch space as long as `rows`."""
    for start in range(low, high, _RUN):
        _sort_run(rows, start, min(start + _RUN, high), keys)
    width = _RUN
    while width < high - low:
        for start in range(low, high, 2 * width):
            middle = min(start + width, high)
            _merge(rows, start, middle, min(start + 2 * width, high), spare, keys)
        width *= 2


@kernel
def _sort_run(rows: Array, low: int, high: int, keys: Array) -> None:
    for at in range(low + 1, high):
        row = rows[at]
        hole = at
        while hole > low and precedes(keys, row, rows[hole - 1]):
            rows[hole] = rows[hole - 1]
            hole -= 1
        rows[hole] = row


@kernel
def _merge(rows: Array, low: int, middle: int, high: int, spare: Array, keys: Array) -> None:
    if middle >= high or not precedes(keys, rows[middle], rows[middle - 1]):
        return
    spare[low:middle] = rows[low:middle]
    left, right, at = low, middle, low
    while left < middle and right < high:
        if precedes(keys, rows[right], spare[left]):
            rows[at] = rows[right]
            right += 1
        else:
            rows[at] = spare[left]
            left += 1
        at += 1
    rows[at : at + middle - left] = spare[left:middle]
