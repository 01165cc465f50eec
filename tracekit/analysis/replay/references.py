"""What an operation would take if its rank were like its peers: those of its role, in the same step."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.observed import ObservedSteps
from tracekit.analysis.replay.sorting import bounds
from tracekit.kernels import kernel
from tracekit.partition import Array

QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}
"""Where among its peers a rank is put: the median, and the quartiles on both sides of it for the bound."""


def references(
    steps: ObservedSteps, is_changed: NDArray[np.bool_], values_ns: NDArray[np.int64], *, all_are_peers: bool = False
) -> tuple[dict[str, NDArray[np.int64]], int]:  # fmt: skip
    """`values_ns` with those of changed operations as their peers', at each of `QUARTILES`; how many have no peers.

    Peers are the operations of the same role in the same step that do not change themselves, or all of them. An
    operation of its own that fewer than half of the peers have at all takes no time. Where no peer took part in the
    step, the rank's own operations of this role stand for them.
    """
    is_peer = np.ones(len(values_ns), np.bool_) if all_are_peers else ~is_changed
    order, first = steps.by_role
    found = np.empty((len(first) - 1, len(QUARTILES)), np.int64)
    doing = np.empty(len(first) - 1, np.int64)
    _peer_quantiles(order, first, values_ns, is_peer, np.array(list(QUARTILES.values())), found, doing)
    role = steps.operations["role_in_step"].to_numpy()
    is_alone = (steps.operations["member_count"] == 1).to_numpy()
    is_extra = is_alone & (2 * doing[role] < _taking_part(steps.operations, is_peer))
    without_peers = is_changed & ~is_extra & (doing[role] == 0)
    own = _own_medians(steps.operations, is_changed, without_peers, values_ns)
    by_quartile = {}
    for at, name in enumerate(QUARTILES):
        values = np.where(is_changed, found[role, at], values_ns)
        values[is_changed & is_extra] = 0
        values[without_peers] = own
        by_quartile[name] = values
    return by_quartile, int(without_peers.sum())


def _taking_part(operations: pl.DataFrame, is_peer: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each operation how many ranks of its pipeline stage have a peer in its step."""
    place = operations["place"].to_numpy()
    rank = operations["rank"].to_numpy()
    runs = bounds(place, rank)
    has_peer = np.logical_or.reduceat(is_peer, runs[:-1])
    return np.bincount(place[runs[:-1]], has_peer, minlength=int(place.max()) + 1).astype(np.int64)[place]


def _own_medians(
    operations: pl.DataFrame, is_changed: NDArray[np.bool_], wanted: NDArray[np.bool_], values_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of the wanted operations the median of all that change in the same role on the same rank."""
    whose = operations.select("role", "rank")
    asked = whose.filter(pl.Series(wanted))
    changed = whose.with_columns(value=pl.Series(values_ns)).filter(pl.Series(is_changed))
    medians = (
        changed.join(asked, on=["role", "rank"], how="semi").group_by("role", "rank").agg(pl.col("value").median())
    )
    own = asked.join(medians, on=["role", "rank"], how="left", maintain_order="left")["value"]
    return own.cast(pl.Int64).to_numpy()


@kernel
def _peer_quantiles(
    order: Array, first: Array, values_ns: Array, is_peer: Array, quantiles: Array, found: Array, doing: Array
) -> None:  # fmt: skip
    """Into `found[role, at]`: a quantile of the peers of a role, the lower of two; into `doing`: how many there are."""
    room = np.empty(len(order), np.int64)
    for role in range(len(first) - 1):
        count = 0
        for at in range(first[role], first[role + 1]):
            if is_peer[order[at]]:
                room[count] = values_ns[order[at]]
                count += 1
        doing[role] = count
        in_order = np.sort(room[:count])
        for at in range(len(quantiles)):
            found[role, at] = in_order[int(quantiles[at] * (count - 1))] if count else 0
