"""Step 2 of the partition: clock differences of hosts, estimated from remote calls where they must exist.

A server works while its client waits, so a correct clock puts the server's interval inside the client's.
Each call bounds the correction of the server's clock from below (`client start - server start`) and above
(`client end - server end`). Where zero lies within the bounds that nearly all calls between two hosts agree
on, nothing needs correcting and nothing is corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UsageError
from tracekit.partition.arrays import Array
from tracekit.partition.cleaning import CleanForest
from tracekit.partition.forest import UNKNOWN_HOST, Forest

WINDOW_NS = 600_000_000_000
"""Length of the window that one estimate holds for: ten minutes."""

_TOLERATED_PERCENT = 1

_DRIFT_DIVISOR = 2000
"""Clocks of two hosts run apart by less than one part in this number (500 ppm; quartz has some 50 ppm)."""


@dataclass(frozen=True, eq=False)
class Skew:
    """Corrections of clocks, one row an ordered pair of hosts and ten-minute window, sorted by the three.

    Columns -------
    parent_host, child_host : int32, numbers of the client's and the server's host.
    window : int64, start of the client's span divided by `WINDOW_NS`.
    shift_ns : int64, what to add to the times of `child_host` to place them on the clock of `parent_host`;
        0 where no correction is needed.
    call_count : int64, calls that bound the correction.
    low_ns, high_ns : int64, the smallest and largest correction that 99 % of the calls allow.
    is_consistent : bool, False where `low_ns` exceeds `high_ns`: no single correction suits, their midpoint
        is taken.
    is_applied : bool, False where the correction exceeds the largest one trusted; it is then reported, not
        applied.

    `unbounded_call_count` calls lasted longer on the server than on the client, by more than clocks drift, and
    bound nothing.
    """

    parent_host: NDArray[np.int32]
    child_host: NDArray[np.int32]
    window: NDArray[np.int64]
    shift_ns: NDArray[np.int64]
    call_count: NDArray[np.int64]
    low_ns: NDArray[np.int64]
    high_ns: NDArray[np.int64]
    is_consistent: NDArray[np.bool_]
    is_applied: NDArray[np.bool_]
    unbounded_call_count: int


def estimate_skew(forest: Forest, *, max_shift_ns: int = 60_000_000_000) -> Skew:
    """Estimate clock corrections from the remote calls between each two hosts.

    A call is a server row whose parent is a client row on another known host and waits for it. Quantiles
    are order statistics, so every figure is an exact difference of two given times. Raises `UsageError` for
    a negative `max_shift_ns`.
    """
    if max_shift_ns < 0:
        raise UsageError(
            f"max_shift_ns {max_shift_ns} is negative; give the largest correction to trust, 0 for none",
            option="max_shift_ns",
            value=str(max_shift_ns),
        )
    server, unbounded = _calls(forest)
    client = forest.parent[server]
    columns = (forest.start_ns[client] // WINDOW_NS, forest.host[server], forest.host[client])
    first, group = _groups(columns)
    at_least_ns = forest.start_ns[client] - forest.start_ns[server]
    at_most_ns = forest.end_ns[client] - forest.end_ns[server]
    count = np.bincount(group, minlength=len(first)).astype(np.int64)
    tolerated = count * _TOLERATED_PERCENT // 100
    low_ns = _order_statistic(at_least_ns, group, count, count - 1 - tolerated)
    high_ns = _order_statistic(at_most_ns, group, count, tolerated)
    shift_ns = _smallest_shift_ns(low_ns, high_ns)
    return Skew(
        parent_host=columns[2][first],
        child_host=columns[1][first],
        window=columns[0][first],
        shift_ns=shift_ns,
        call_count=count,
        low_ns=low_ns,
        high_ns=high_ns,
        is_consistent=low_ns <= high_ns,
        is_applied=(shift_ns != 0) & (np.abs(shift_ns) <= max_shift_ns),
        unbounded_call_count=unbounded,
    )


def _calls(forest: Forest) -> tuple[NDArray[np.int64], int]:
    """Rows of servers whose call bounds the clock of their host, and the number of calls that do not."""
    server = np.flatnonzero(forest.is_server & forest.blocking & (forest.parent >= 0))
    client = forest.parent[server]
    hosts_known = (forest.host[server] != UNKNOWN_HOST) & (forest.host[client] != UNKNOWN_HOST)
    is_remote = hosts_known & (forest.host[server] != forest.host[client]) & forest.is_client[client]
    server, client = server[is_remote], client[is_remote]
    server_ns = forest.end_ns[server] - forest.start_ns[server]
    client_ns = forest.end_ns[client] - forest.start_ns[client]
    is_bounded = (server_ns >= 0) & (server_ns <= client_ns + client_ns // _DRIFT_DIVISOR)
    return server[is_bounded], int(np.count_nonzero(~is_bounded))


def _groups(columns: tuple[Array, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each distinct combination, ascending by the last column first; group of each row."""
    by_columns = np.lexsort(columns)
    differs = np.zeros(len(by_columns), dtype=bool)
    differs[:1] = True
    for column in columns:
        ordered = column[by_columns]
        differs[1:] |= ordered[1:] != ordered[:-1]
    group = np.empty(len(by_columns), dtype=np.int64)
    group[by_columns] = np.cumsum(differs) - 1
    return by_columns[differs], group


def _order_statistic(
    values: NDArray[np.int64], group: NDArray[np.int64], count: NDArray[np.int64], rank: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The value of ascending rank `rank` (from 0) in each group."""
    ordered = values[np.lexsort((values, group))]
    return ordered[np.cumsum(count) - count + rank]


def _smallest_shift_ns(low_ns: NDArray[np.int64], high_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    nearest = np.where(low_ns > 0, low_ns, np.where(high_ns < 0, high_ns, 0))
    return np.where(low_ns > high_ns, low_ns + (high_ns - low_ns) // 2, nearest)


def edge_shift_ns(forest: Forest, given: CleanForest, skew: Skew | None) -> NDArray[np.int64]:
    """What each row of `given` is shifted against its parent; no values where nothing is shifted."""
    if skew is None or not skew.is_applied.any():
        return np.empty(0, dtype=np.int64)
    shift_ns = np.zeros(len(given.key), dtype=np.int64)
    child = np.flatnonzero((given.parent[: given.given_rows] >= 0) & (forest.host != UNKNOWN_HOST))
    child = child[given.parent[child] < given.given_rows]
    parent = given.parent[child]
    crosses = (forest.host[parent] != UNKNOWN_HOST) & (forest.host[parent] != forest.host[child])
    child, parent = child[crosses], parent[crosses]
    found, estimate = _lookup(skew, forest.host[parent], forest.host[child], forest.start_ns[parent] // WINDOW_NS)
    is_shifted = found & skew.is_applied[estimate]
    shift_ns[child[is_shifted]] = skew.shift_ns[estimate[is_shifted]]
    return shift_ns


def _lookup(
    skew: Skew, parent_host: NDArray[np.int32], child_host: NDArray[np.int32], window: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which pairs have an estimate, and its row."""
    estimates = len(skew.window)
    columns = (
        np.concatenate([skew.window, window]),
        np.concatenate([skew.child_host, child_host]),
        np.concatenate([skew.parent_host, parent_host]),
    )
    first, group = _groups(columns)
    estimate = first[group[estimates:]]
    return estimate < estimates, np.minimum(estimate, estimates - 1)
