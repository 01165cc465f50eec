"""The `shared` owner: each instant is divided equally among the active operations, to whole nanoseconds.

An operation is active while it is open and no child of it is. The share of a row is a sum of fractions, so
it is kept as whole nanoseconds and a 32-bit fraction; the nanoseconds that rounding down leaves over go to
the rows with the largest fractions. A tree's shares sum to the duration of its root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.result import Partition
from tracekit.partition.sorting import sort_descending

_FRACTION_BITS = 32
_ONE = 1 << _FRACTION_BITS


class _Shares(NamedTuple):
    """State of the sweep; `keys` holds each row's fraction and tie-break, which rank who gets the rest."""

    start_ns: Array
    end_ns: Array
    parent: Array
    open_children: Array
    is_open: Array
    whole_ns: Array
    keys: Array


def shared_self(partition: Partition) -> NDArray[np.int64]:
    """Nanoseconds of each row when every instant is shared equally among the active rows of its tree.

    Reads the clipped intervals only, so the rule of `partition` does not matter. Within a nanosecond of the
    exact share; the sum over a tree is the duration of its root, exactly, and no value is negative. Which
    rows get the nanoseconds left over by rounding depends on fractions and tie-breaks, not on the order of
    the rows.
    """
    rows = partition.row_count
    shares = _Shares(
        start_ns=partition.clipped_start_ns,
        end_ns=partition.clipped_end_ns,
        parent=partition.effective_parent,
        open_children=np.zeros(rows, dtype=np.int32),
        is_open=np.zeros(rows, dtype=np.bool_),
        whole_ns=np.zeros(rows, dtype=np.int64),
        keys=np.zeros((2, rows), dtype=np.int64),
    )
    shares.keys[1] = (partition.tiebreak ^ np.uint64(1 << 63)).view(np.int64)
    _share_trees(shares, partition.order)
    return shares.whole_ns


@kernel
def _share_trees(shares: _Shares, order: Array) -> None:
    spare = np.empty_like(order)
    starts = order.copy()
    ends = order.copy()
    earliest_start = (-shares.start_ns).reshape(1, -1)
    earliest_end = (-shares.end_ns).reshape(1, -1)
    low = 0
    while low < order.shape[0]:
        high = low + 1
        while high < order.shape[0] and shares.parent[order[high]] >= 0:
            high += 1
        sort_descending(starts, low, high, spare, earliest_start)
        sort_descending(ends, low, high, spare, earliest_end)
        _share_tree(shares, starts[low:high], ends[low:high])
        _give_rest(shares, starts, low, high, spare)
        low = high


@kernel
def _share_tree(shares: _Shares, starts: Array, ends: Array) -> None:
    """Sweep one tree; the share of one active row up to now is `whole_ns` and `fraction` of a nanosecond."""
    now_ns, whole_ns, fraction, active = shares.start_ns[starts[0]], 0, 0, 0
    opened, closed = 0, 0
    while closed < ends.shape[0]:
        opens = opened < starts.shape[0] and shares.start_ns[starts[opened]] <= shares.end_ns[ends[closed]]
        event_ns = shares.start_ns[starts[opened]] if opens else shares.end_ns[ends[closed]]
        if active and event_ns > now_ns:
            whole_ns += (event_ns - now_ns) // active
            fraction += ((event_ns - now_ns) % active << _FRACTION_BITS) // active
            whole_ns, fraction = whole_ns + (fraction >> _FRACTION_BITS), fraction & (_ONE - 1)
        now_ns = event_ns
        if opens:
            active += _open(shares, starts[opened], whole_ns, fraction)
            opened += 1
        else:
            active += _close(shares, ends[closed], whole_ns, fraction)
            closed += 1


@kernel
def _open(shares: _Shares, row: int, whole_ns: int, fraction: int) -> int:
    """Open a row; returns by how much the number of active rows changes."""
    if shares.start_ns[row] == shares.end_ns[row]:
        return 0
    change = 0
    shares.is_open[row] = True
    if shares.open_children[row] == 0:
        change += _activate(shares, row, whole_ns, fraction)
    parent = shares.parent[row]
    if parent >= 0:
        shares.open_children[parent] += 1
        if shares.open_children[parent] == 1 and shares.is_open[parent]:
            change += _deactivate(shares, parent, whole_ns, fraction)
    return change


@kernel
def _close(shares: _Shares, row: int, whole_ns: int, fraction: int) -> int:
    """Close a row; returns by how much the number of active rows changes."""
    if shares.start_ns[row] == shares.end_ns[row]:
        return 0
    change = 0
    shares.is_open[row] = False
    if shares.open_children[row] == 0:
        change += _deactivate(shares, row, whole_ns, fraction)
    parent = shares.parent[row]
    if parent >= 0:
        shares.open_children[parent] -= 1
        if shares.open_children[parent] == 0 and shares.is_open[parent]:
            change += _activate(shares, parent, whole_ns, fraction)
    return change


@kernel
def _activate(shares: _Shares, row: int, whole_ns: int, fraction: int) -> int:
    shares.whole_ns[row] -= whole_ns
    shares.keys[0, row] -= fraction
    return 1


@kernel
def _deactivate(shares: _Shares, row: int, whole_ns: int, fraction: int) -> int:
    shares.whole_ns[row] += whole_ns
    shares.keys[0, row] += fraction
    shares.whole_ns[row] += shares.keys[0, row] >> _FRACTION_BITS
    shares.keys[0, row] &= _ONE - 1
    return -1


@kernel
def _give_rest(shares: _Shares, rows: Array, low: int, high: int, spare: Array) -> None:
    """Hand out the nanoseconds that rounding left, one each, to the rows with the largest fractions."""
    root = -1
    rest_ns = 0
    sharing = low
    for at in range(low, high):
        row = rows[at]
        rest_ns -= shares.whole_ns[row]
        if shares.parent[row] < 0:
            root = row
        if shares.whole_ns[row] > 0 or shares.keys[0, row] > 0:
            rows[at], rows[sharing] = rows[sharing], row
            sharing += 1
    rest_ns += shares.end_ns[root] - shares.start_ns[root]
    if rest_ns == 0:
        return
    sort_descending(rows, low, sharing, spare, shares.keys)
    for given in range(rest_ns):
        shares.whole_ns[rows[low + given % (sharing - low)]] += 1
