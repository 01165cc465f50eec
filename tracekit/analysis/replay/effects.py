"""What a change does to steps: replays of observed ones, and of pipelines whose dependencies are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.change import Change
from tracekit.analysis.replay.observed import ObservedSteps
from tracekit.analysis.replay.references import QUARTILES, references
from tracekit.analysis.replay.steps import Steps

MODEL_ERROR = 0.15
"""Bounds are widened by this share of the saving, and ..."""

STEP_ERROR = 0.003
"""... this share of the step: as far as replay and truth lie apart in generated runs with known faults."""

TRIED_RANKS = 8
"""How many ranks are tried one by one: those whose own work lies furthest above that of their peers."""

RANK_SCHEMA = {"rank": pl.Int64, "pipeline_stage": pl.Int64, "excess_ns": pl.Int64, "saving": pl.Float64}


@dataclass(frozen=True)
class Effect:
    """Mean step length at the median of the peers, and its bounds; operations without peers."""

    after_ns: float
    low_ns: float
    high_ns: float
    peerless: int = 0


class Replay(Protocol):
    """Steps that can be replayed under a change."""

    @property
    def step_count(self) -> int:
        """How many steps there are."""

    @property
    def left_out(self) -> pl.DataFrame:
        """`step` and `reason` of those that are not replayed."""

    @property
    def before_ns(self) -> float:
        """The mean step as observed."""

    def effect(self, change: Change) -> Effect:
        """The mean step under a change. Raises `UsageError` where it names what is not there."""

    def by_rank(self) -> pl.DataFrame:
        """Savings without each of the ranks furthest above their peers, the worst first (`RANK_SCHEMA`)."""


@dataclass(frozen=True, eq=False)
class ObservedReplay:
    """Steps as observed: an operation waits for what had ended before it on its rank."""

    steps: ObservedSteps

    @cached_property
    def _like_role(self) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
        """Times and delays with every operation as at each of `QUARTILES` of its role."""
        everything = np.ones(len(self.steps.own_ns), np.bool_)
        own, _ = references(self.steps, everything, self.steps.own_ns, all_are_peers=True)
        delays, _ = references(self.steps, everything, self.steps.delay_ns, all_are_peers=True)
        return own, delays

    @property
    def _evened(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Times and delays with every operation as at the median of its role."""
        own, delays = self._like_role
        return own["median"], delays["median"]

    @property
    def step_count(self) -> int:
        return int(self.steps.step_counts.sum())

    @property
    def left_out(self) -> pl.DataFrame:
        return self.steps.left_out

    @property
    def before_ns(self) -> float:
        return float(self.steps.observed_ns.sum() / self.step_count)

    def _mean_ns(self, own_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> float:
        """Mean time of a step with these times and delays."""
        return float(self.steps.replayed(own_ns, delay_ns).sum() / self.step_count)

    def effect(self, change: Change) -> Effect:
        steps, before = self.steps, self.before_ns
        chosen = change.chosen(steps.operations).to_numpy()
        if change.kind == "operation":
            after = self._mean_ns(np.where(chosen, 0, steps.own_ns), steps.delay_ns)
            return bounded(before, after, [])
        if change.kind == "imbalance":
            kinds = steps.operations.select("operation", stage="pipeline_stage", is_own=pl.col("member_count") == 1)
            factors = stage_factors(kinds.with_columns(own=pl.Series(steps.own_ns)))
            after = self._mean_ns(np.rint(steps.own_ns * factors).astype(np.int64), steps.delay_ns)
            return bounded(before, after, [])
        if change.kind == "stragglers":
            (own, delays), peerless = self._like_role, 0
        else:
            own, peerless = references(steps, self._with_meetings(chosen), steps.own_ns)
            delays, _ = references(steps, chosen, steps.delay_ns)
        lengths = {name: self._mean_ns(own[name], delays["median"]) for name in QUARTILES}
        # Others may start late for reasons that are no spans, the changed ranks among them.
        prompt = self._mean_ns(own["median"], self._evened[1])
        found = bounded(before, lengths["median"], [*lengths.values(), prompt])
        return replace(found, peerless=peerless)

    def _with_meetings(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Also the transfers of others that meet a chosen operation, where like transfers meet none."""
        operations = self.steps.operations
        if chosen.all():
            return chosen
        meeting, role = operations["meeting"].to_numpy(), operations["role"].to_numpy()
        is_alone = (operations["member_count"] == 1).to_numpy()
        meets = np.bincount(meeting, chosen)[meeting] > 0
        has_others = np.bincount(role, ~meets)[role] > 0
        return np.where(is_alone, chosen, meets & has_others)

    def by_rank(self) -> pl.DataFrame:
        """Savings without each of the ranks that are furthest above their peers, tried one by one."""
        own_ns, delay_ns = self._evened
        is_alone = (self.steps.operations["member_count"] == 1).to_numpy()
        excess_ns = np.where(is_alone, self.steps.own_ns - own_ns, 0) + self.steps.delay_ns - delay_ns
        summed = self.steps.operations.select("rank", "pipeline_stage", excess_ns=pl.Series(excess_ns))
        ranks = summed.group_by("rank", "pipeline_stage").agg(pl.col("excess_ns").sum()).filter(pl.col("excess_ns") > 0)
        tried = ranks.sort("excess_ns", "rank", descending=[True, False]).head(TRIED_RANKS)
        savings = [1 - self._evened_ns(rank) / self.before_ns for rank in tried["rank"]]
        return tried.with_columns(saving=pl.Series(savings, dtype=pl.Float64)).sort(
            "saving", "rank", descending=[True, False]
        )

    def _evened_ns(self, rank: int) -> float:
        """Mean time of a step with one rank as at the median of its role."""
        chosen = (self.steps.operations["rank"] == rank).to_numpy()
        own_ns, delay_ns = self._evened
        return self._mean_ns(
            np.where(self._with_meetings(chosen), own_ns, self.steps.own_ns),
            np.where(chosen, delay_ns, self.steps.delay_ns),
        )


@dataclass(frozen=True, eq=False)
class PipelineReplay:
    """Steps whose dependencies are known: nothing is late but what waits for something."""

    steps: Steps

    @property
    def step_count(self) -> int:
        return len(self.steps.steps)

    @property
    def left_out(self) -> pl.DataFrame:
        return self.steps.left_out

    @property
    def before_ns(self) -> float:
        return float(self.steps.observed_ns.mean())

    def effect(self, change: Change) -> Effect:
        chosen = self._chosen(change)
        if change.kind == "operation":
            return bounded(self.before_ns, self._after_ns(np.where(chosen, 0.0, self.steps.own_ns)), [])
        if change.kind == "imbalance":
            slots = self.steps.slots.select("stage", operation="kind", is_own=~pl.Series(self.steps.graph.is_transfer))
            typical = pl.Series(np.median(self.steps.own_ns, axis=(0, 2)))
            factors = stage_factors(slots.with_columns(own=typical))
            return bounded(self.before_ns, self._after_ns(self.steps.own_ns * factors[:, None]), [])
        lengths = [self._after_ns(self._like_peers(chosen, at)) for at in QUARTILES.values()]
        return bounded(self.before_ns, lengths[1], lengths)

    def by_rank(self) -> pl.DataFrame:
        ranks, own_ns = self.steps.ranks, self.steps.own_ns
        above = own_ns - np.median(own_ns, axis=(0, 2), keepdims=True)
        above[:, self.steps.graph.is_transfer, :] = 0
        stage = self.steps.slots["stage"].to_numpy()
        excess = [
            round(float(above[:, stage == at, replica].sum()))
            for at, replica in ranks.select("stage", "replica").iter_rows()
        ]
        found = ranks.select("rank", pipeline_stage="stage").with_columns(excess_ns=pl.Series(excess, dtype=pl.Int64))
        tried = (
            found.filter(pl.col("excess_ns") > 0).sort("excess_ns", "rank", descending=[True, False]).head(TRIED_RANKS)
        )
        savings = [1 - self.effect(Change("rank", (str(rank),))).after_ns / self.before_ns for rank in tried["rank"]]
        named = tried.with_columns(saving=pl.Series(savings, dtype=pl.Float64)).cast(RANK_SCHEMA)  # type: ignore[arg-type]
        return named.sort("saving", "rank", descending=[True, False])

    @cached_property
    def _replayed_ns(self) -> float:
        return self._mean_ns(self.steps.own_ns)

    def _mean_ns(self, own_ns: NDArray[np.float64]) -> float:
        everything = np.ones(own_ns.shape[1:], np.bool_)
        return float(self.steps.replayed(own_ns[0], everything, own_ns=own_ns)[:, 1].mean())

    def _after_ns(self, own_ns: NDArray[np.float64]) -> float:
        """The observed step less what the change saves of the replayed one, in proportion."""
        return self.before_ns * self._mean_ns(np.ascontiguousarray(own_ns)) / self._replayed_ns

    def _chosen(self, change: Change) -> NDArray[np.bool_]:
        """Slots and replicas that change."""
        slots, ranks = self.steps.slots, self.steps.ranks
        shape = self.steps.own_ns.shape[1:]
        if change.kind in ("stragglers", "imbalance"):
            return np.ones(shape, np.bool_)
        known = slots.select(operation="kind", host=pl.lit(None, pl.String)) if change.kind != "rank" else ranks
        named = change.chosen(known).to_numpy()
        if change.kind == "operation":
            return np.broadcast_to(named[:, None], shape)
        chosen = np.zeros(shape, np.bool_)
        for stage, replica in ranks.filter(pl.Series(named)).select("stage", "replica").iter_rows():
            chosen[(slots["stage"] == stage).to_numpy(), replica] = True
        return chosen

    def _like_peers(self, chosen: NDArray[np.bool_], quantile: float) -> NDArray[np.float64]:
        """Times with the chosen ones as their peers': the other replicas, else the operation's own of all steps."""
        own_ns = self.steps.own_ns.copy()
        for slot in np.flatnonzero(chosen.any(axis=1)):
            mine = chosen[slot]
            if mine.all():
                own_ns[:, slot] = np.quantile(own_ns[:, slot], quantile, method="lower")
            else:
                others = np.quantile(own_ns[:, slot, ~mine], quantile, axis=1, method="lower")
                own_ns[:, slot, mine] = others[:, None]
        return own_ns


def stage_factors(operations: pl.DataFrame) -> NDArray[np.float64]:
    """By how much the own time of operations is to change so that all pipeline stages take as long as the median one.

    Columns: `operation`, `stage`, `is_own` (false: it keeps its time) and `own`. Operations that only one stage has
    keep their time: they are no part of the cut of the model.
    """
    own = operations.filter("is_own").group_by("operation", "stage").agg(typical=pl.col("own").median())
    middle = own.group_by("operation").agg(middle=pl.col("typical").median(), stages=pl.len())
    by_stage = own.join(middle, on="operation").filter((pl.col("stages") > 1) & (pl.col("typical") > 0))
    factors = by_stage.select(
        "operation", "stage", is_own=pl.lit(value=True), factor=pl.col("middle") / pl.col("typical")
    )
    found = operations.join(
        factors, on=["operation", "stage", "is_own"], how="left", nulls_equal=True, maintain_order="left"
    )
    return found["factor"].fill_null(1.0).to_numpy()


def bounded(before: float, after: float, others: list[float]) -> Effect:
    margin = MODEL_ERROR * abs(before - after) + STEP_ERROR * before
    return Effect(after, max(0.0, min([after, *others]) - margin), max([after, *others]) + margin)
