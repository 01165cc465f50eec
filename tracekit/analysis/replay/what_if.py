"""How long steps would take under a change, by replay of what each operation waited for.

A counterfactual, to stand beside the ledger of where the time went and never to be added to it: what two ranks cost
together is not the sum of what each costs. The reference of a rank are its peers, the ranks that do the same part of
the same step, because ideal times taken over all stages blame a stage for being longer than another one.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.analysis.replay.change import Change, Kind
from tracekit.analysis.replay.effects import Effect, ObservedReplay, PipelineReplay, Replay
from tracekit.analysis.replay.observed import observed_steps
from tracekit.analysis.replay.steps import pipeline_steps
from tracekit.analysis.worded import in_words
from tracekit.errors import InsufficientDataError
from tracekit.schema import WhatIfVerdict

MINIMUM_SHARE = 0.01
"""Less than this share of the step time is not called a difference."""

PIPELINE_KINDS = ("forward-compute", "backward-compute", "optimizer")
"""Operations by whose names the dependencies of a step are known (`tracekit.analysis.replay.pipeline`)."""


@dataclass(frozen=True)
class ReplayBasis:
    """What the figures of a replay rest on; `tracekit.wording` says it.

    kind: of the change. peerless: changed operations without peers. left_out: steps that were not replayed, and the
    `reason` of the first of them.
    """

    kind: Kind
    peerless: int
    left_out: int
    reason: str


@dataclass(frozen=True)
class WhatIf:
    """What a change would give. Times are nanoseconds of a mean step: what it takes until the next one.

    change: as it was written. metric: what the times are of. before: as observed. after: replayed under `change`.
    low, high: bounds of `after`: with the changed ranks at the faster and slower quartile of their peers instead of
        the median, and everybody as prompt as its peers; widened by `MODEL_ERROR` and `STEP_ERROR`.
    saving: `(before - after) / before`. steps: how many were replayed. left_out: `step` and `reason`.
    by_rank: `rank`, `pipeline_stage`, `excess_ns` (own work above that of its peers, all steps) and `saving` without
        that rank alone, the worst first; the savings of several ranks do not add up.
    assumptions: what the figures rest on, in words (`ReplayBasis`). verdict: the conclusion as a code.
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
    assumptions: list[str]
    verdict: WhatIfVerdict


def what_if(operations: pl.DataFrame, change: Change) -> WhatIf:
    """How long the steps of one job would take under a change; see the module.

    `operations` has the columns of `observed_steps` and `host`. Raises `UsageError` where the change names something
    that is not there, and `InsufficientDataError` where nothing can be replayed.
    """
    replay = replay_of(operations)
    return replayed(replay, change, replay.by_rank())


def replayed(replay: Replay, change: Change, by_rank: pl.DataFrame) -> WhatIf:
    """What a change gives in a replay; `by_rank` is the replay's own, which several changes share."""
    before = replay.before_ns
    effect = replay.effect(change)
    after, low, high = effect.after_ns, effect.low_ns, effect.high_ns
    saving = (before - after) / before
    verdict = _verdict(before, low, high, saving)
    return WhatIf(
        change=change.text,
        metric="step",
        before=before,
        after=after,
        low=low,
        high=high,
        saving=saving,
        steps=replay.step_count,
        left_out=replay.left_out,
        by_rank=by_rank,
        assumptions=in_words(_basis(replay, change, effect)).splitlines(),
        verdict=verdict,
    )


def replay_of(operations: pl.DataFrame) -> Replay:
    """The steps with the dependencies of the framework where the names of the operations tell them, else as observed.

    Raises `InsufficientDataError` where nothing can be replayed.
    """
    replay = _replay(operations)
    if replay.before_ns == 0:
        raise InsufficientDataError("the operations of all steps together took no time: there is nothing to save")
    return replay


def _replay(operations: pl.DataFrame) -> Replay:
    if set(PIPELINE_KINDS) <= set(operations["operation"].unique().cast(pl.String)):
        try:
            return PipelineReplay(pipeline_steps(operations))
        except InsufficientDataError:
            return ObservedReplay(observed_steps(operations))
    return ObservedReplay(observed_steps(operations))


def _verdict(before: float, low: float, high: float, saving: float) -> WhatIfVerdict:
    if abs(saving) < MINIMUM_SHARE or low < before < high:
        return "no_difference"
    return "faster" if saving > 0 else "slower"


def _basis(replay: Replay, change: Change, effect: Effect) -> ReplayBasis:
    left_out = replay.left_out
    return ReplayBasis(change.kind, effect.peerless, len(left_out), left_out["reason"][0] if len(left_out) else "")
