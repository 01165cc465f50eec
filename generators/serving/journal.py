"""The time line of each request, kept while it happens.

A request is in exactly one stage at any time: `enter` closes the stage it leaves and opens the next, so its
intervals tile the time from arrival to close without gap or overlap, in whole nanoseconds, by construction.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from generators.serving import state
from generators.serving.state import INTERVALS, LIVE, ORDER, World
from tracekit.kernels import kernel

Heap = list[tuple[int, int, int, int, int]]
"""Pending events: (time, order of scheduling, kind, subject, attempt or epoch)."""


@kernel
def schedule(world: World, heap: Heap, time_ns: int, kind: int, subject: int, guard: int) -> None:
    """Add an event; events of the same instant happen in the order in which they were scheduled."""
    world.counters[ORDER] += 1
    # One type for all events, whatever width the numbers came in.
    event: Any = (
        np.int64(time_ns),
        world.counters[ORDER],
        np.int64(kind),
        np.int64(subject),
        np.int64(guard),
    )
    heapq.heappush(heap, event)


@kernel
def record(world: World, request: int, stage: int, end_ns: int) -> None:
    """Close the interval since the last change as time in `stage`; nothing where no time has passed."""
    row = world.requests[request]
    if end_ns <= row.since_ns:
        return
    position = world.counters[INTERVALS]
    world.counters[INTERVALS] += 1
    if position < world.log.shape[0]:
        interval = world.log[position]
        interval.request, interval.attempt, interval.stage = request, row.attempt, stage
        interval.replica = row.replica if row.decode_replica < 0 else row.decode_replica
        interval.start_ns, interval.end_ns = row.since_ns, end_ns
    row.since_ns = end_ns


@kernel
def enter(world: World, request: int, stage: int, now_ns: int) -> None:
    """The request leaves its stage and is in `stage` from now on."""
    row = world.requests[request]
    record(world, request, row.stage, now_ns)
    row.stage = stage


@kernel
def inject(world: World, request: int, stage: int, extra_ns: int) -> None:
    """Note that the fault itself added this time to this stage of the request."""
    if extra_ns > 0:
        world.injected[request, stage] += extra_ns


@kernel
def is_active(world: World, now_ns: int) -> bool:
    """Whether the fault is on."""
    return world.fault.start_ns <= now_ns < world.fault.end_ns


@kernel
def is_struck(world: World, replica: int, now_ns: int) -> bool:
    """Whether the fault is on and concerns this replica."""
    return is_active(world, now_ns) and (world.fault.replica < 0 or world.fault.replica == replica)


@kernel
def drawn_ns(world: World, request: int, stage: int, now_ns: int) -> int:
    """How long the request will be in a stage of drawn duration, the fault's delay included."""
    duration_ns = world.durations[request, stage]
    if stage == world.fault.delay_stage and is_active(world, now_ns):
        inject(world, request, stage, world.requests[request].delay_ns)
        duration_ns += world.requests[request].delay_ns
    return duration_ns


@kernel
def close(world: World, request: int, outcome: int, status: int, now_ns: int) -> None:
    """The response is closed; the request is over."""
    row = world.requests[request]
    record(world, request, row.stage, now_ns)
    row.outcome, row.status, row.held = outcome, status, state.CLOSED
    row.close_ns = row.since_ns
    world.counters[LIVE] -= 1
