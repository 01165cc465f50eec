"""How long steps would take under a change, by replay of what each operation waited for.

A counterfactual, to stand beside the ledger of where the time went and never to be added to it: what two ranks cost
together is not the sum of what each costs. The reference of a rank are its peers, the ranks that do the same part of
the same step, because ideal times taken over all stages blame a stage for being longer than another one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.durations import duration_text
from tracekit.analysis.replay.change import Change
from tracekit.analysis.replay.observed import ObservedSteps, observed_steps
from tracekit.analysis.replay.references import QUARTILES, references
from tracekit.errors import InsufficientDataError

Verdict = Literal["faster", "no_difference", "slower"]

MINIMUM_SHARE = 0.01
"""Less than this share of the step time is not called a difference."""

MODEL_ERROR = 0.15
"""Bounds are widened by this share of the saving, and ..."""

STEP_ERROR = 0.003
"""... this share of the step: as far as replay and truth lie apart in generated runs with known faults."""

TRIED_RANKS = 8
"""How many ranks are tried one by one: those whose own work lies furthest above that of their peers."""


@dataclass(frozen=True)
class WhatIfAnswer:
    """What a change would give. Times are nanoseconds of a mean step: what it takes until the next one.

    before: as observed. after: replayed under `change`. low, high: bounds of `after`: with the changed ranks at the
        faster and slower quartile of their peers instead of the median, and everybody as prompt as its peers; widened
        by `MODEL_ERROR` and `STEP_ERROR`.
    saving: `(before - after) / before`. steps: how many were replayed. left_out: `step` and `reason`.
    by_rank: `rank`, `pipeline_stage`, `excess_ns` (own work above that of its peers, all steps) and `saving` without
        that rank alone, the worst first; the savings of several ranks do not add up.
    assumptions: what the figures rest on. verdict, summary: the conclusion as a code and as a sentence.
    """

    change: str
    metric: str
    before: float
    after: float
    low: float
    high: float
    saving: float
    steps: int
    left_out: pl.DataFrame
    by_rank: pl.DataFrame
    assumptions: tuple[str, ...]
    verdict: Verdict
    summary: str

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, frames as lists of rows."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        frames = {name: getattr(self, name).to_dicts() for name in ("left_out", "by_rank")}
        return values | frames | {"assumptions": list(self.assumptions)}


def what_if(operations: pl.DataFrame, change: Change) -> WhatIfAnswer:
    """How long the steps of one job would take under a change; see the module.

    `operations` has the columns of `observed_steps` and `host`. Raises `UsageError` where the change names something
    that is not there, and `InsufficientDataError` where nothing can be replayed.
    """
    steps = observed_steps(operations)
    replay = _Replay(steps)
    before = float(steps.observed_ns.sum() / steps.step_counts.sum())
    if before == 0:
        raise InsufficientDataError("the operations of all steps together took no time: there is nothing to save")
    effect = replay.effect(change.chosen(steps.operations).to_numpy(), before, removes=change.kind == "operation")
    after, low, high = effect.after_ns, effect.low_ns, effect.high_ns
    saving = (before - after) / before
    verdict = _verdict(before, low, high, saving)
    return WhatIfAnswer(
        change=change.text,
        metric="step",
        before=before,
        after=after,
        low=low,
        high=high,
        saving=saving,
        steps=int(steps.step_counts.sum()),
        left_out=steps.left_out,
        by_rank=replay.by_rank(before),
        assumptions=_assumptions(steps, change, effect),
        verdict=verdict,
        summary=_summary(change, verdict, before, after, low, high),
    )


@dataclass(frozen=True)
class _Effect:
    """Mean step length at the median of the peers, and its bounds; operations without peers."""

    after_ns: float
    low_ns: float
    high_ns: float
    peerless: int = 0


@dataclass(frozen=True, eq=False)
class _Replay:
    steps: ObservedSteps

    @cached_property
    def evened(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Times and delays with every operation as at the median of its role."""
        everything = np.ones(len(self.steps.own_ns), np.bool_)
        own, _ = references(self.steps, everything, self.steps.own_ns)
        delays, _ = references(self.steps, everything, self.steps.delay_ns)
        return own["median"], delays["median"]

    def mean_ns(self, own_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> float:
        """Mean time of a step with these times and delays."""
        return float(self.steps.replayed(own_ns, delay_ns).sum() / self.steps.step_counts.sum())

    def effect(self, chosen: NDArray[np.bool_], before: float, *, removes: bool) -> _Effect:
        steps = self.steps
        if removes:
            after = self.mean_ns(np.where(chosen, 0, steps.own_ns), steps.delay_ns)
            return _bounded(before, after, [after])
        own, peerless = references(steps, self._with_meetings(chosen), steps.own_ns)
        delays, _ = references(steps, chosen, steps.delay_ns)
        lengths = {name: self.mean_ns(own[name], delays["median"]) for name in QUARTILES}
        # Others may start late for reasons that are no spans, the changed ranks among them.
        prompt = self.mean_ns(own["median"], self.evened[1])
        found = _bounded(before, lengths["median"], [*lengths.values(), prompt])
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

    def by_rank(self, before: float) -> pl.DataFrame:
        """Savings without each of the ranks that are furthest above their peers, tried one by one."""
        own_ns, delay_ns = self.evened
        is_alone = (self.steps.operations["member_count"] == 1).to_numpy()
        excess_ns = np.where(is_alone, self.steps.own_ns - own_ns, 0) + self.steps.delay_ns - delay_ns
        summed = self.steps.operations.select("rank", "pipeline_stage", excess_ns=pl.Series(excess_ns))
        ranks = summed.group_by("rank", "pipeline_stage").agg(pl.col("excess_ns").sum()).filter(pl.col("excess_ns") > 0)
        tried = ranks.sort("excess_ns", "rank", descending=[True, False]).head(TRIED_RANKS)
        savings = [1 - self._evened_ns(rank) / before for rank in tried["rank"]]
        return tried.with_columns(saving=pl.Series(savings, dtype=pl.Float64)).sort(
            "saving", "rank", descending=[True, False]
        )

    def _evened_ns(self, rank: int) -> float:
        """Mean time of a step with one rank as at the median of its role."""
        chosen = (self.steps.operations["rank"] == rank).to_numpy()
        own_ns, delay_ns = self.evened
        return self.mean_ns(
            np.where(self._with_meetings(chosen), own_ns, self.steps.own_ns),
            np.where(chosen, delay_ns, self.steps.delay_ns),
        )


def _bounded(before: float, after: float, others: list[float]) -> _Effect:
    margin = MODEL_ERROR * abs(before - after) + STEP_ERROR * before
    return _Effect(after, max(0.0, min(others) - margin), max(others) + margin)


def _verdict(before: float, low: float, high: float, saving: float) -> Verdict:
    if abs(saving) < MINIMUM_SHARE or low < before < high:
        return "no_difference"
    return "faster" if saving > 0 else "slower"


def _assumptions(steps: ObservedSteps, change: Change, effect: _Effect) -> tuple[str, ...]:
    told = [
        "the order in which operations followed each other on a rank stays",
        "a collective still takes as long after its last member has arrived",
    ]
    if change.kind == "operation":
        told.append("the removed operations take no time, and what is left starts as late after the one before it")
    else:
        told.append("what changes takes as long as at the median of its peers: same step, pipeline stage and operation")
    if effect.peerless:
        told.append(f"{effect.peerless:,} operations have no peers: their own median over all steps stands for them")
    if len(steps.left_out):
        told.append(f"{len(steps.left_out):,} steps are left out: {steps.left_out['reason'][0]}")
    return tuple(told)


def _summary(change: Change, verdict: Verdict, before: float, after: float, low: float, high: float) -> str:
    words = change.words[:1].upper() + change.words[1:]
    bound = f"{_share(before, high)} to {_share(before, low)}"
    if verdict == "no_difference":
        return f"{words} a step would take as long as it does ({duration_text(round(before))}; {bound} less)."
    shorter = "faster" if verdict == "faster" else "slower"
    return (
        f"{words}: {abs(before - after) / before:.1%} {shorter} ({bound}): a step would take "
        f"{duration_text(round(after))} instead of {duration_text(round(before))}."
    )


def _share(before: float, after: float) -> str:
    return f"{(before - after) / before:.1%}"
