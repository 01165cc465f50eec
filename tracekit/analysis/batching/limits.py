"""What kept requests waiting: seats in the batch, or room in the KV cache.

A request that waited longer than the prefill of others and a few steps explain was not admitted although a step began.
How many sequences ran when it was admitted at last is the limit then; where that number changes and their tokens do
not, the limit is the KV cache. Where prefill is so slow that it could explain every wait, requests that were passed
over although the tokens of a step were enough for all who waited show a limit of seats, if always as many ran.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.analysis.batching.engine_times import EngineTimes
from tracekit.analysis.batching.step_times import BIN_NS, StepTimes
from tracekit.partition import Array

UNLIMITED = 2**62
_WAITED_STEPS = 4
_ENOUGH = 5
"""Fewer waits than this on an engine show no limit."""

_STEADY = 0.1
"""Sequences that vary by less than this, as standard deviation over mean, are a limit of seats."""

_ABOVE_STEADY = 0.05
"""Where more requests than this were admitted beside more sequences, their number is no limit. Ends are seen late."""


@dataclass(frozen=True)
class Limits:
    """What engines run at most, by engine and bin of `StepTimes`.

    seats: sequences. kv_tokens: tokens of context. waits: requests that waited for either. most_tokens: the most tokens
    of context that an engine was seen with.
    """

    seats: Array
    kv_tokens: Array
    waits: int
    most_tokens: int

    @property
    def bound_by(self) -> str | None:
        """`seats`, `kv`, or None where nothing was seen to bind."""
        if (self.kv_tokens < UNLIMITED).any():
            return "kv"
        return "seats" if (self.seats < UNLIMITED).any() else None


def observed_limits(times: EngineTimes, steps: StepTimes, budget: int) -> Limits:
    """The limits that the waits of requests show, where a step takes at most `budget` tokens."""
    running, context = _running(times)
    waited = times.scheduled_ns - times.queued_ns
    typical_ns = steps.step_ns[0] + running * steps.step_ns[1] + context * steps.step_ns[2]
    typical_ns = typical_ns * steps.speed_at(times.engine, times.scheduled_ns)
    is_bound = waited - _prefill_in_waits(times, steps) > _WAITED_STEPS * np.maximum(typical_ns, 1.0)
    seats = np.full(steps.speed.shape, UNLIMITED, np.int64)
    found = Limits(seats, seats.copy(), int(is_bound.sum()), int(context.max()) if times.count else 0)
    passed = waited - _first_chance_ns(times, budget) > _WAITED_STEPS * np.maximum(typical_ns, 1.0)
    steady = _steady_seats(found, times.engine, running, passed)
    if steady.bound_by is not None or found.waits < _ENOUGH:
        return steady
    bins = np.clip((times.scheduled_ns - steps.first_bin_ns) // BIN_NS, 0, steps.speed.shape[1] - 1)
    is_kv = _is_steadier(context[is_bound], running[is_bound], times.engine[is_bound])
    most = np.zeros(seats.shape, np.int64)
    # Whoever was admitted in a stretch in which others waited was within the limit too.
    np.maximum.at(most, (times.engine, bins), context.astype(np.int64) if is_kv else running)
    is_known = np.zeros(seats.shape, bool)
    is_known[times.engine[is_bound], bins[is_bound]] = True
    filled = _filled(np.where(is_known, most, 0), seats)
    return replace(found, kv_tokens=filled) if is_kv else replace(found, seats=filled)


def _steady_seats(found: Limits, engine: Array, running: Array, passed: Array) -> Limits:
    """Seats of engines whose requests were passed over again and again while always as many sequences ran."""
    seats, waits = found.seats, found.waits
    for one in range(len(seats)):
        beside = running[(engine == one) & passed]
        if len(beside) < 2 * _ENOUGH or _spread(beside) > _STEADY:
            continue
        limit = int(np.median(beside))
        if np.mean(running[engine == one] > limit) <= _ABOVE_STEADY:
            seats[one], waits = limit, max(waits, len(beside))
    return replace(found, seats=seats, waits=waits)


def _first_chance_ns(times: EngineTimes, budget: int) -> Array:
    """How long after it came each request could have been in the batch first, ns; as long as it waited where unknown.

    The prompts that were being prefilled had to be done. Those ahead of it in the queue come in the same step as it
    does if the tokens of a step are enough for all of them.
    """
    found = times.scheduled_ns - times.queued_ns
    for engine in range(len(times.engines)):
        mine = np.flatnonzero(times.engine == engine)
        order = mine[np.argsort(times.scheduled_ns[mine], kind="stable")]
        begun = np.searchsorted(times.scheduled_ns[order], times.queued_ns[mine], side="right")
        served = np.searchsorted(times.scheduled_ns[order], times.scheduled_ns[mine], side="left")
        busy_until = np.concatenate([[0], np.maximum.accumulate(times.first_ns[order])])[begun]
        tokens = np.concatenate([[0], np.cumsum(times.prompt_tokens[order])])
        ahead = tokens[np.maximum(served, begun)] - tokens[begun] + times.prompt_tokens[mine]
        chance_ns = np.maximum(busy_until - times.queued_ns[mine], 0)
        found[mine] = np.where(ahead <= budget, np.minimum(chance_ns, found[mine]), found[mine])
    return found


def _filled(found: Array, seats: Array) -> Array:
    """Limits of stretches without a wait: the most that any stretch with one shows, as nothing bound there."""
    for engine in range(len(found)):
        known = np.flatnonzero(found[engine])
        if not len(known):
            continue
        seats[engine] = np.where(found[engine] > 0, found[engine], UNLIMITED)
    return seats


def _is_steadier(context: Array, running: Array, engine: Array) -> bool:
    """Whether the tokens of context vary less than the sequences do, which are no steady number themselves."""
    of_context, of_running = (
        float(np.mean([_spread(values[engine == one]) for one in np.unique(engine)])) for values in (context, running)
    )
    return of_running > _STEADY and of_context < of_running / 2


def _spread(values: Array) -> float:
    return float(np.std(values)) / max(float(np.mean(values)), 1e-12)


def _running(times: EngineTimes) -> tuple[Array, Array]:
    """Sequences in the batch right after each request was admitted, itself included, and their tokens of context."""
    running, context = np.zeros(times.count, np.int64), np.zeros(times.count)
    decode_ns = np.maximum(times.last_ns - times.first_ns, 1)
    for engine in range(len(times.engines)):
        mine = np.flatnonzero(times.engine == engine)
        at_ns = times.scheduled_ns[mine]
        begun, ended = np.sort(at_ns), np.argsort(times.last_ns[mine], kind="stable")
        last_ns = times.last_ns[mine][ended]
        running[mine] = np.searchsorted(begun, at_ns, "right") - np.searchsorted(last_ns, at_ns, "right")
        # Tokens that a request generates come evenly between its first and its last.
        rate = (times.output_tokens[mine] - 1) / decode_ns[mine]
        context[mine] = _held(times, mine, at_ns, rate)
    return running, context


def _held(times: EngineTimes, mine: Array, at_ns: Array, rate: Array) -> Array:
    """Tokens that the sequences of an engine hold at each time."""
    total = np.zeros(len(at_ns))
    for edge_ns, sign in ((times.scheduled_ns[mine], 1), (times.last_ns[mine], -1)):
        order = np.argsort(edge_ns, kind="stable")
        count = np.searchsorted(edge_ns[order], at_ns, side="right")
        total += sign * np.concatenate([[0], np.cumsum(times.prompt_tokens[mine][order])])[count]
    for edge_ns, sign in ((times.first_ns[mine], 1), (times.last_ns[mine], -1)):
        order = np.argsort(edge_ns, kind="stable")
        count = np.searchsorted(edge_ns[order], at_ns, side="right")
        origin = times.scheduled_ns.min()
        rates = np.concatenate([[0], np.cumsum(rate[order])])[count]
        starts = np.concatenate([[0], np.cumsum((rate * (times.first_ns[mine] - origin))[order])])[count]
        total += sign * (rates * (at_ns - origin) - starts)
    return total


def _prefill_in_waits(times: EngineTimes, steps: StepTimes) -> Array:
    """Prefill work that the engine did while each request waited, ns."""
    found = np.zeros(times.count)
    for engine in range(len(times.engines)):
        mine = np.flatnonzero(times.engine == engine)
        order = mine[np.argsort(times.scheduled_ns[mine], kind="stable")]
        done = np.concatenate(
            [[0.0], np.cumsum(steps.work_ns[order] * steps.speed_at(times.engine[order], times.first_ns[order]))]
        )
        # What was being prefilled when the wait began counts too.
        begun = np.searchsorted(times.first_ns[order], times.queued_ns[mine], side="right")
        ended = np.searchsorted(times.scheduled_ns[order], times.scheduled_ns[mine], side="left")
        found[mine] = done[np.maximum(ended, begun)] - done[begun]
    return found
