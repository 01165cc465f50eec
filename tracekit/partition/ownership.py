"""Step 4 and 5 of the partition: which part of a parent's window each of its children owns.

`critical` follows the chain of last finishers: the child that finishes last, before it the sibling that had
finished when it started, and so on. `active_last` gives each instant to the open child that finishes last.
"""

from __future__ import annotations

from typing import NamedTuple

from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.sorting import precedes, sort_descending

MILLION = 1_000_000


class Siblings(NamedTuple):
    """Columns that the owners read and write; `keys` holds, greatest first in the order of finishing:

    0 the clipped end less the tolerance, 1 the clipped end, 2 the end before clipping, 3 the negated
    clipped start, 4 the tie-break. `held_until_ns` is the time before which a row owns nothing.
    """

    keys: Array
    window_start_ns: Array
    window_end_ns: Array
    waits_for: Array
    holder: Array
    held_count: Array
    held_until_ns: Array
    key: Array
    unused_wait_count: Array


@kernel
def tolerated_end_ns(start_ns: int, end_ns: int, tolerance_ppm: int) -> int:
    """`end - floor(tolerance x duration)`, exact for every int64 duration."""
    whole, rest = divmod(end_ns - start_ns, MILLION)
    return end_ns - whole * tolerance_ppm - rest * tolerance_ppm // MILLION


@kernel
def own_latest_open(
    siblings: Siblings, rows: Array, low: int, high: int, spare: Array, start_ns: int, end_ns: int
) -> None:
    """Rule `active_last` for the children `rows[low:high]` of a parent that owns `[start_ns, end_ns)`.

    A childless one that spans the last of those with known work owns only what comes after it.
    """
    sort_descending(rows, low, high, spare, siblings.keys)
    known = low
    while known < high and siblings.held_count[rows[known]] == 0:
        known += 1
    limit_ns = end_ns
    for at in range(low, high):
        if limit_ns <= start_ns:
            break
        row = rows[at]
        from_ns = _owns_from_ns(siblings, row)
        if at < known < high and siblings.keys[3, row] >= siblings.keys[3, rows[known]]:
            from_ns = max(from_ns, siblings.keys[1, rows[known]])
        _set_window(siblings, row, max(from_ns, start_ns), min(siblings.keys[1, row], limit_ns))
        limit_ns = min(limit_ns, from_ns)


@kernel
def own_last_finishers(
    siblings: Siblings, rows: Array, low: int, high: int, spare: Array, start_ns: int, end_ns: int
) -> None:
    """Rule `critical` for the children `rows[low:high]` of a parent that owns `[start_ns, end_ns)`."""
    sort_descending(rows, low, high, spare, siblings.keys)
    row = _last_finisher(siblings.keys, rows, low, high)
    limit_ns = end_ns
    at = low
    while row >= 0 and limit_ns > start_ns:
        from_ns = _owns_from_ns(siblings, row)
        _set_window(siblings, row, max(from_ns, start_ns), min(siblings.keys[1, row], limit_ns))
        limit_ns = min(limit_ns, from_ns)
        awaited = _awaited_sibling(siblings, row)
        if awaited >= 0:
            row = awaited
            continue
        while at < high and siblings.keys[0, rows[at]] > from_ns:
            at += 1
        row = rows[at] if at < high else -1


@kernel
def _owns_from_ns(siblings: Siblings, row: int) -> int:
    return max(-siblings.keys[3, row], siblings.held_until_ns[row])


@kernel
def _set_window(siblings: Siblings, row: int, start_ns: int, end_ns: int) -> None:
    siblings.window_start_ns[row] = start_ns
    siblings.window_end_ns[row] = max(start_ns, end_ns)


@kernel
def _last_finisher(keys: Array, rows: Array, low: int, high: int) -> int:
    """The row that ends last without tolerance, -1 where there is none."""
    if low == high:
        return -1
    last = rows[low]
    for at in range(low + 1, high):
        if precedes(keys[1:], rows[at], last):
            last = rows[at]
    return last


@kernel
def _awaited_sibling(siblings: Siblings, row: int) -> int:
    """The sibling that `row` says it waited for, -1 where it names none or one that cannot come before it."""
    awaited = siblings.waits_for[row]
    if awaited < 0:
        return -1
    keys = siblings.keys
    is_sibling = siblings.holder[awaited] == siblings.holder[row]
    # One that owns nothing until later cannot come before the row either: the two would hold each other for ever.
    is_before = keys[3, awaited] > keys[3, row] and _owns_from_ns(siblings, awaited) < _owns_from_ns(siblings, row)
    if is_sibling and is_before and keys[1, awaited] > -keys[3, awaited]:
        return awaited
    siblings.unused_wait_count[siblings.key[row]] += 1
    return -1
