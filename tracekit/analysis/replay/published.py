"""The slowdowns of the OSDI 2025 what-if analysis, exactly as its authors compute them.

Kept beside the robust answer of `tracekit.analysis.replay.what_if` so that figures can be compared with theirs. Their
ideal is the mean over all ranks, stages and steps, which the straggler itself raises, and knows no roles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.pipeline import COMMUNICATION, PEER_TO_PEER
from tracekit.analysis.replay.steps import Steps

WORST_SHARE_PERCENT = 3
"""The share of workers whose removal `worker_share` (M_W) tells (Eq. 5)."""

NEGATIVE_TRANSFER_NS = -10_000_000
"""A transfer that ends this long before its last start counts as none; less is kept as it is (the artifact's code)."""


@dataclass(frozen=True)
class PublishedSlowdowns:
    """Slowdowns as ratios of mean step times; `slowdown` (S, Eq. 1) is 1 where nothing was slow.

    by_kind (S_t, Eq. 2), by_replica (S_dp), by_stage (S_stage): one row a group, `slowdown` if only the group keeps its
        times. by_rank: `slowdown` is S_w, the lesser of its replica's and its stage's (Eq. 4).
    worker_share (M_W, Eq. 5): the share of the excess that idealising the worst 3 % of workers, `worst_ranks`, removes.
    stage_share (M_S): that of the last pipeline stage. None where there is no excess.
    launch_slowdown: observed over replayed without starting late.
    original_ns, ideal_ns: mean step times as replayed.
    """

    slowdown: float
    launch_slowdown: float
    by_kind: pl.DataFrame
    by_replica: pl.DataFrame
    by_stage: pl.DataFrame
    by_step: pl.DataFrame
    by_rank: pl.DataFrame
    worst_ranks: tuple[int, ...]
    worker_share: float | None
    stage_share: float | None
    original_ns: float
    ideal_ns: float


def published_slowdowns(steps: Steps) -> PublishedSlowdowns:
    """S, S_t, S_w, M_W and M_S of steps, by the definitions of the OSDI 2025 paper and its artifact."""
    replays = _Replays.of(steps)
    every = np.ones(replays.shape, np.bool_)
    original_ns, ideal_ns = replays.lengths_ns(every), replays.lengths_ns(~every)
    original, ideal = original_ns.mean(axis=0).tolist(), ideal_ns.mean(axis=0).tolist()
    kinds = _groups(steps.slots["kind"].replace(_SIDES))
    by_kind = [(name, replays.closing_ns(chosen) / ideal[0]) for name, chosen in kinds]
    by_stage = [(stage, replays.closing_ns(chosen) / ideal[0]) for stage, chosen in _groups(steps.slots["stage"])]
    by_replica = replays.replica_means_ns() / ideal[0]
    ranks = _worker_slowdowns(steps.ranks, dict(by_stage), by_replica)
    worst = ranks.head(math.ceil(ranks.height * WORST_SHARE_PERCENT / 100))
    is_worst = replays.of_ranks(worst)
    is_last = np.broadcast_to((steps.slots["stage"] == steps.slots["stage"].max()).to_numpy()[:, None], replays.shape)
    return PublishedSlowdowns(
        slowdown=original[1] / ideal[0],
        launch_slowdown=float(steps.observed_ns.mean()) / original[1],
        by_kind=_table("kind", by_kind),
        by_replica=_table("data_parallel_rank", list(zip(_replica_names(steps), by_replica.tolist(), strict=True))),
        by_stage=_table("stage", by_stage),
        by_step=_table("step", list(zip(steps.steps.tolist(), original_ns[:, 1] / ideal_ns[:, 0], strict=True))),
        by_rank=ranks.select("rank", "stage", "data_parallel_rank", "slowdown"),
        worst_ranks=tuple(worst["rank"].to_list()),
        worker_share=replays.share_without(is_worst, original[1], ideal[1]),
        stage_share=replays.share_without(is_last, original[1], ideal[1]),
        original_ns=original[1],
        ideal_ns=ideal[1],
    )


_SIDES = {kind: f"{kind.partition('-')[0]}-pp-comm" for kind in PEER_TO_PEER}


@dataclass(frozen=True, eq=False)
class _Replays:
    """Replays of steps with their own times here and the ideal ones there."""

    steps: Steps
    own_ns: NDArray[np.float64]
    ideal_ns: NDArray[np.float64]

    @classmethod
    def of(cls, steps: Steps) -> _Replays:
        own_ns = np.where(steps.own_ns <= NEGATIVE_TRANSFER_NS, 0.0, steps.own_ns)
        ideal = np.empty(steps.slots.height)
        for kind, chosen in _groups(steps.slots["kind"]):
            values = own_ns[:, chosen, :]
            ideal[chosen] = np.median(values) if kind in COMMUNICATION else values.mean()
        return cls(steps, own_ns, np.repeat(ideal[:, None], steps.replica_count, axis=1))

    @property
    def shape(self) -> tuple[int, int]:
        return self.ideal_ns.shape[0], self.ideal_ns.shape[1]

    def lengths_ns(self, is_kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Lengths of the steps, by their closing operations and by all."""
        return self.steps.replayed(self.ideal_ns, is_kept, own_ns=self.own_ns)

    def closing_ns(self, slots: NDArray[np.bool_]) -> float:
        """Mean length if only these slots keep their times."""
        return float(self.lengths_ns(np.broadcast_to(slots[:, None], self.shape))[:, 0].mean())

    def of_ranks(self, ranks: pl.DataFrame) -> NDArray[np.bool_]:
        """Slots and replicas of ranks (`stage`, `replica`)."""
        chosen = np.zeros(self.shape, np.bool_)
        stage = self.steps.slots["stage"].to_numpy()
        for row in ranks.iter_rows(named=True):
            chosen[stage == row["stage"], row["replica"]] = True
        return chosen

    def share_without(self, idealised: NDArray[np.bool_], original_ns: float, ideal_ns: float) -> float | None:
        if original_ns == ideal_ns:
            return None
        return (original_ns - float(self.lengths_ns(~idealised)[:, 1].mean())) / (original_ns - ideal_ns)

    def replica_means_ns(self) -> NDArray[np.float64]:
        """Mean step times if one replica keeps its times, for each.

        The others are all ideal and so all alike: two replicas, the one and any other, stand for all. That makes
        the work of all replicas together twice that of one replay, not as many times as there are replicas.
        """
        count = self.steps.replica_count
        if count == 1:
            return np.array([self.closing_ns(np.ones(self.shape[0], np.bool_))])
        kept = np.zeros((self.shape[0], 2), np.bool_)
        kept[:, 0] = True
        means = np.empty(count)
        for replica in range(count):
            pair = np.repeat(self.own_ns[:, :, replica, None], 2, axis=2)
            means[replica] = self.steps.replayed(self.ideal_ns[:, :2], kept, own_ns=pair)[:, 0].mean()
        return means


def _groups(values: pl.Series) -> list[tuple[object, NDArray[np.bool_]]]:
    return [(value, (values == value).to_numpy()) for value in values.unique(maintain_order=True)]


def _replica_names(steps: Steps) -> list[int]:
    return steps.ranks.unique("replica").sort("replica")["data_parallel_rank"].to_list()


def _worker_slowdowns(
    ranks: pl.DataFrame, by_stage: dict[object, float], by_replica: NDArray[np.float64]
) -> pl.DataFrame:
    """Ranks with the lesser of the slowdowns of their stage and their replica, the worst first."""
    slowdowns = np.minimum([by_stage[stage] for stage in ranks["stage"]], by_replica[ranks["replica"].to_numpy()])
    return ranks.with_columns(slowdown=pl.Series(slowdowns)).sort("slowdown", "rank", descending=[True, False])


def _table(name: str, rows: list[tuple[object, float]]) -> pl.DataFrame:
    names, slowdowns = zip(*rows, strict=True)
    return pl.DataFrame({name: names, "slowdown": slowdowns}).sort("slowdown", name, descending=[True, False])
