"""How long a step of an engine takes, learnt from what many requests saw of the same steps.

A request that decodes sees one step a token. Its time from first to last token is

    base x steps + a x (sequences of these steps) + b x (their tokens of context) + prefill work of others in that time

where the sums over steps are what all requests of the engine did meanwhile: tokens generated, and tokens of context
read. The prefill work of a request is its own time in the batch before its first token, less the step's own time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.batching.engine_times import EngineTimes
from tracekit.partition import Array

_ROUNDS = 6
_ROBUST_ROUNDS = 8
_FAR = 2.0
MINIMUM_STEPS = 4
"""A request that decoded fewer steps tells little of their length."""

SAME_STEP_NS = 500_000
"""Prefills that overlap by less are of different steps: the clocks of an exporter's attributes differ by this much."""

BIN_NS = 1_000_000_000
"""Engines' speed and seats are told for stretches of this length."""


TOLERATED_PACE = 0.2
"""An engine whose steps take longer by less than this share is as fast as usual."""


@dataclass(frozen=True)
class StepTimes:
    """What a step takes.

    step_ns: base, by sequence that decodes, by token of its context. work_ns: prefill work of each request at usual
    speed. speed[engine, bin]: how many times as long the engine's steps take. first_bin_ns: start of the bins.
    explained: share of the variance of decode times that the fit explains.
    """

    step_ns: Array
    work_ns: Array
    speed: Array
    first_bin_ns: int
    explained: float

    def speed_at(self, engine: Array, time_ns: Array) -> Array:
        """How many times as long as usual the steps of each engine took at a time."""
        bins = np.clip((time_ns - self.first_bin_ns) // BIN_NS, 0, self.speed.shape[1] - 1)
        return self.speed[engine, bins]


@dataclass(frozen=True)
class _Course:
    """A quantity that grows piecewise linearly with time on one engine."""

    time_ns: Array
    total: Array

    @classmethod
    def of(cls, start_ns: Array, end_ns: Array, amount: Array) -> _Course:
        """What grows by `amount` evenly between each start and end."""
        rate = amount / np.maximum(end_ns - start_ns, 1)
        time_ns = np.concatenate([start_ns, np.maximum(end_ns, start_ns + 1)])
        change = np.concatenate([rate, -rate])
        order = np.argsort(time_ns, kind="stable")
        time_ns, rates = time_ns[order], np.cumsum(change[order])
        total = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(time_ns))]) if len(time_ns) else np.zeros(0)
        return cls(time_ns.astype(np.float64), total)

    def between(self, start_ns: Array, end_ns: Array) -> Array:
        """How much it grew between each start and end."""
        if not len(self.time_ns):
            return np.zeros(len(start_ns))
        return np.interp(end_ns, self.time_ns, self.total) - np.interp(start_ns, self.time_ns, self.total)


def step_times(times: EngineTimes, budget: int) -> StepTimes:
    """Learn the step time from requests that decoded, where a step takes at most `budget` tokens."""
    step_ns, work_ns, explained = np.zeros(3), np.maximum(times.first_ns - times.scheduled_ns, 0).astype(float), 0.0
    first_bin_ns = int(times.dispatched_ns.min()) if times.count else 0
    bins = int((times.last_ns.max() - first_bin_ns) // BIN_NS) + 1 if times.count else 1
    speed = np.ones((len(times.engines), bins))
    decoded = _decoded(times)
    for _ in range(_ROUNDS):
        stall_ns = _over_engines(times, times.scheduled_ns, times.first_ns, work_ns, times.first_ns, times.last_ns)
        own_ns = (times.last_ns - times.first_ns) - stall_ns
        slow = _speed_of(times, speed, first_bin_ns)
        step_ns, explained = _fitted(decoded, own_ns / slow, times)
        speed = _speeds(times, decoded @ step_ns, own_ns, first_bin_ns, speed.shape)
        work_ns = _work(times, step_ns, _speed_of(times, speed, first_bin_ns), budget)
    return StepTimes(step_ns, work_ns / _speed_of(times, speed, first_bin_ns), speed, first_bin_ns, explained)


def _decoded(times: EngineTimes) -> Array:
    """By request: its steps, the sequences of these steps, and their tokens of context (float64[N, 3])."""
    steps = (times.output_tokens - 1).astype(float)
    context = steps * (times.prompt_tokens + steps / 2)
    arguments = times.first_ns, times.last_ns
    sequences = _over_engines(times, *arguments, steps, *arguments)
    return np.stack([steps, sequences, _over_engines(times, *arguments, context, *arguments)], axis=1)


def _over_engines(
    times: EngineTimes, start_ns: Array, end_ns: Array, amount: Array, asked_start_ns: Array, asked_end_ns: Array
) -> Array:
    """What requests of the same engine did, each an amount between two times, between each request's asked times."""
    found = np.zeros(times.count)
    for engine in range(len(times.engines)):
        mine = times.engine == engine
        course = _Course.of(start_ns[mine], end_ns[mine], amount[mine])
        found[mine] = course.between(asked_start_ns[mine], asked_end_ns[mine])
    return found


def _fitted(decoded: Array, own_ns: Array, times: EngineTimes) -> tuple[Array, float]:
    """Robust least squares over requests with enough steps, each weighted by its own time."""
    usable = (times.output_tokens > MINIMUM_STEPS) & (own_ns > 0)
    if usable.sum() < MINIMUM_STEPS:
        return np.zeros(3), 0.0
    given, wanted = decoded[usable], own_ns[usable]
    weight = 1 / np.sqrt(wanted)
    for _ in range(_ROBUST_ROUNDS):
        step_ns = _non_negative(given * weight[:, None], wanted * weight)
        off = np.abs(wanted - given @ step_ns) / np.sqrt(wanted)
        # Who is far off by the measure of the middle ones tells less (Huber's weights).
        weight = 1 / np.sqrt(wanted * np.maximum(off / max(_FAR * float(np.median(off)), 1e-9), 1.0))
    spread = np.var(wanted)
    return step_ns, float(1 - np.mean((wanted - given @ step_ns) ** 2) / spread) if spread > 0 else 1.0


def _non_negative(given: Array, wanted: Array) -> Array:
    """Least squares with coefficients that are not negative, by leaving out the most negative one."""
    columns = list(range(given.shape[1]))
    found = np.zeros(given.shape[1])
    while columns:
        scale = np.maximum(np.abs(given[:, columns]).max(axis=0), 1e-12)
        solution = np.linalg.lstsq(given[:, columns] / scale, wanted, rcond=None)[0]
        if (solution >= 0).all():
            found[columns] = solution / scale
            break
        columns.pop(int(np.argmin(solution)))
    return found


def _speeds(times: EngineTimes, predicted_ns: Array, own_ns: Array, first_bin_ns: int, shape: tuple[int, int]) -> Array:
    """Time taken over time predicted, by engine and bin; 1 where nothing decoded."""
    speed = np.ones(shape)
    edges = first_bin_ns + BIN_NS * np.arange(shape[1] + 1)
    for engine in range(shape[0]):
        mine = (times.engine == engine) & (predicted_ns > 0) & (own_ns > 0)
        taken, predicted = (
            _Course.of(times.first_ns[mine], times.last_ns[mine], amount[mine]).between(edges[:-1], edges[1:])
            for amount in (own_ns, predicted_ns)
        )
        speed[engine] = np.where(predicted > BIN_NS / 4, taken / np.maximum(predicted, 1.0), np.nan)
    if not np.isfinite(speed).any():
        return np.ones(shape)
    speed = np.nan_to_num(speed / np.nanmedian(speed), nan=1.0)
    # What differs by less is the error of the fit, and would be learnt as speed.
    return np.clip(np.where(np.abs(speed - 1) > TOLERATED_PACE, speed, 1.0), 0.1, 100.0)


def _speed_of(times: EngineTimes, speed: Array, first_bin_ns: int) -> Array:
    bins = np.clip((times.first_ns - first_bin_ns) // BIN_NS, 0, speed.shape[1] - 1)
    return speed[times.engine, bins]


def _work(times: EngineTimes, step_ns: Array, speed: Array, budget: int) -> Array:
    """Prefill work of each request: those prefilled in the same steps share what these took beyond the decode."""
    found = np.zeros(times.count)
    for engine in range(len(times.engines)):
        mine = np.flatnonzero(times.engine == engine)
        mine = mine[np.lexsort((times.first_ns[mine], times.scheduled_ns[mine]))]
        if not len(mine):
            continue
        start_ns, end_ns = times.scheduled_ns[mine], times.first_ns[mine]
        begins = np.concatenate([[True], start_ns[1:] >= np.maximum.accumulate(end_ns)[:-1] - SAME_STEP_NS])
        group = np.cumsum(begins) - 1
        begin_ns, end_ns = start_ns[begins], np.maximum.reduceat(end_ns, np.flatnonzero(begins))
        sequences, context = _decoding(times, mine, begin_ns)
        cost_ns = step_ns[0] + sequences * step_ns[1] + context * step_ns[2]
        tokens = times.prompt_tokens[mine].astype(float)
        steps = np.ceil(np.bincount(group, tokens) / budget)
        slow = np.bincount(group, speed[mine]) / np.bincount(group)
        spent_ns = np.maximum(end_ns - begin_ns - steps * cost_ns * slow, 0.0)
        found[mine] = spent_ns[group] * tokens / np.bincount(group, tokens)[group]
    return found


def _decoding(times: EngineTimes, mine: Array, at_ns: Array) -> tuple[Array, Array]:
    """Sequences of an engine that decode at each time, and their tokens of context."""
    first, last = times.first_ns[mine], times.last_ns[mine]
    opened, closed = np.argsort(first, kind="stable"), np.argsort(last, kind="stable")
    begun = np.searchsorted(first[opened], at_ns, side="right")
    ended = np.searchsorted(last[closed], at_ns, side="right")
    context = times.prompt_tokens[mine] + times.output_tokens[mine] / 2
    entered = np.concatenate([[0.0], np.cumsum(context[opened])])
    left = np.concatenate([[0.0], np.cumsum(context[closed])])
    return (begun - ended).astype(float), entered[begun] - left[ended]
