"""What requests would take of engines that are not as they were, by replay of their queues and batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tracekit.analysis.batching import kernel
from tracekit.analysis.batching.engine_times import EngineTimes
from tracekit.analysis.batching.limits import Limits, observed_limits
from tracekit.analysis.batching.routing import observed_rule
from tracekit.analysis.batching.step_times import BIN_NS, StepTimes, step_times
from tracekit.partition import Array

BUDGETS = (512, 1024, 2048, 4096, 8192, 16384, 2**40)
"""Tokens of a step that are tried: usual settings of engines, and no limit."""

USUAL_BUDGET = 8192
_TRIED_REQUESTS = 20_000


@dataclass(frozen=True)
class Setting:
    """How the engines of a replay are.

    added: engines more (or fewer). seats: sequences in a batch, None for what was seen. is_apart: prompts are prefilled
    beside the decode steps. usual_speed: engines are never slower than usual. later_ns: by how much each request comes
    later to its engine. pace: steps take so many times as long. lot: which lots are drawn where engines are.
    """

    added: int = 0
    seats: int | None = None
    is_apart: bool = False
    usual_speed: bool = False
    later_ns: Array | None = None
    pace: float = 1.0
    lot: int = 0


AS_IT_WAS = Setting()


@dataclass(frozen=True)
class Replayed:
    """When each request was scheduled, had its first and last token (ns), and on which engine."""

    scheduled_ns: Array
    first_ns: Array
    last_ns: Array
    engine: Array


@dataclass(frozen=True)
class EngineReplay:
    """Engines as they were learnt from what their requests saw.

    budget: tokens of a step. rule: how an engine is chosen for a request. agreement: requests that the rule names.
    """

    times: EngineTimes
    steps: StepTimes
    limits: Limits
    budget: int
    rule: int
    agreement: float

    @classmethod
    def learnt(cls, times: EngineTimes) -> EngineReplay:
        """Learn step times, limits, the token budget that reproduces the requests best, and the rule of routing."""
        tried = _first(times, _TRIED_REQUESTS)
        budgets = [budget for budget in BUDGETS if budget < 2 * tried.prompt_tokens.max()] + [BUDGETS[-1]]
        errors = {budget: cls._with(tried, budget).error_ns for budget in budgets}
        best = min(errors.values())
        # Of budgets that do as well as each other the usual one, else the largest.
        close = [budget for budget, error in errors.items() if error <= 1.02 * best]
        return cls._with(times, USUAL_BUDGET if USUAL_BUDGET in close else max(close))

    @classmethod
    def _with(cls, times: EngineTimes, budget: int) -> EngineReplay:
        steps = step_times(times, budget)
        rule, agreement = observed_rule(times)
        return cls(times, steps, observed_limits(times, steps, budget), budget, rule, agreement)

    @cached_property
    def as_it_was(self) -> Replayed:
        """The requests replayed without any change."""
        return self.run(AS_IT_WAS)

    @property
    def error_ns(self) -> float:
        """Mean distance of the first and last token from where they were, without any change."""
        found, times = self.as_it_was, self.times
        return float(np.mean(np.abs(found.first_ns - times.first_ns) + np.abs(found.last_ns - times.last_ns)))

    def run(self, setting: Setting) -> Replayed:
        """Replay the requests on engines of a setting."""
        times, steps = self.times, self.steps
        later_ns = 0 if setting.later_ns is None else setting.later_ns
        dispatched_ns, queued_ns = times.dispatched_ns + later_ns, times.queued_ns + later_ns
        speed = _with_engines(steps.speed, setting.added, np.ones(steps.speed.shape[1]))
        speed = np.minimum(speed, 1.0) if setting.usual_speed else speed
        seats = _with_engines(self.limits.seats, setting.added, self.limits.seats.max(axis=0, initial=0))
        kv_tokens = _with_engines(self.limits.kv_tokens, setting.added, self.limits.kv_tokens.max(axis=0, initial=0))
        if setting.seats is not None:
            seats = np.full(seats.shape, setting.seats, np.int64)
        found = np.full((times.count, 4), kernel.NONE, np.int64)
        kernel.replay_batches(
            dispatched_ns, queued_ns, np.argsort(dispatched_ns, kind="stable"), np.argsort(queued_ns, kind="stable"),
            np.where(times.engine < len(seats), times.engine, kernel.NONE), times.prompt_tokens, times.output_tokens,
            steps.work_ns * setting.pace / times.prompt_tokens, steps.step_ns * setting.pace, speed, seats, kv_tokens,
            steps.first_bin_ns, BIN_NS, self.budget, self._router(setting), setting.lot,
            setting.is_apart, found,
        )  # fmt: skip
        return Replayed(*(found[:, column] for column in range(4)))

    def _router(self, setting: Setting) -> int:
        """Who goes where: as observed unless engines come or go, or the rule looks at what else changes."""
        by_load = self.rule in (kernel.LEAST_REQUESTS, kernel.ROUND_ROBIN)
        if setting.added or (setting.seats is not None and by_load):
            return self.rule
        return kernel.AS_OBSERVED


def _with_engines(values: Array, added: int, new: Array) -> Array:
    """The rows of engines, with more of them or without the last ones."""
    if added < 0:
        return values[: max(len(values) + added, 1)]
    return np.vstack([values, np.repeat(new[None], added, axis=0)]).astype(values.dtype)


def _first(times: EngineTimes, count: int) -> EngineTimes:
    """The first requests."""
    arrays: dict[str, Any] = {
        name: value[:count] for name, value in vars(times).items() if isinstance(value, np.ndarray)
    }
    return replace(times, **arrays)
