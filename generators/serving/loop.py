"""The event loop of the serving simulation, compiled.

Why its own loop and not a process library: a request passes about ten events and shares hundreds of engine
steps with others, and a run has to reach millions of requests. A binary heap of integer tuples over
structured arrays, compiled, runs some hundred times as many events a second as one Python generator per
process does (docs/generators.md has the figures), and integer nanoseconds stay exact. All random numbers are
drawn before, so the loop itself is deterministic.
"""

from __future__ import annotations

import heapq

from generators.serving import delivery, engine, failures, gateway, queues, stages, state
from generators.serving.gateway import CANCELLED, CLOSES, GIVES_UP, STAGE_ENDS, TIMES_OUT
from generators.serving.journal import Heap, close, drawn_ns, enter, is_active, is_struck, schedule
from generators.serving.state import EVENTS, LIVE, READINGS, World
from tracekit.kernels import kernel

CRASHES = 5
RECOVERS = 7
READS_COUNTERS = 8
READY = 10


@kernel
def arrive(world: World, heap: Heap, request: int) -> None:
    """A request reaches the gateway; its client's patience starts to run."""
    row = world.requests[request]
    now_ns, patience_ns = row.arrival_ns, row.patience_ns
    if is_active(world, now_ns) and row.fault_patience_ns > 0:
        patience_ns = min(patience_ns, row.fault_patience_ns) if patience_ns > 0 else row.fault_patience_ns
    row.since_ns = now_ns
    world.counters[LIVE] += 1
    if patience_ns > 0:
        schedule(world, heap, now_ns + patience_ns, GIVES_UP, request, 0)
    gateway.spend(world, heap, request, stages.GW_INGRESS, now_ns)


@kernel
def stage_ended(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Go on after a stage of drawn duration."""
    stage = world.requests[request].stage
    if stage <= stages.GW_RATELIMIT:
        through_checks(world, heap, request, now_ns)
    elif stage <= stages.GW_ROUTE or stage == stages.RETRY:
        through_routing(world, heap, request, now_ns)
    else:
        through_frontend(world, heap, request, now_ns)


@kernel
def through_checks(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """ingress, authentication, quota: the next one, or 429."""
    stage = world.requests[request].stage
    if stage == stages.GW_RATELIMIT and not gateway.passes_quota(world, request, now_ns):
        gateway.end(world, heap, request, state.REJECTED, 429, now_ns)
        return
    gateway.spend(world, heap, request, stage + 1, now_ns)


@kernel
def through_routing(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Response cache, guardrail, admission, choice of a replica."""
    row = world.requests[request]
    if row.stage == stages.GW_CACHE and row.is_cache_hit:
        row.first_ns = row.last_ns = now_ns
        row.generated = row.output_tokens
        close(world, request, state.OK, 200, now_ns)
    elif row.stage == stages.GW_CACHE and world.durations[request, stages.GW_GUARDRAIL] > 0:
        gateway.spend(world, heap, request, stages.GW_GUARDRAIL, now_ns)
    elif row.stage != stages.GW_ROUTE:
        gateway.pass_or_wait(world, heap, request, now_ns)
    else:
        dispatch(world, heap, request, now_ns)


@kernel
def dispatch(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Send the request to a replica and watch its time."""
    replica = gateway.choose_replica(world, request, now_ns)
    if replica < 0:
        gateway.end(world, heap, request, state.FAILED, 503, now_ns)
        return
    gateway.assign(world, request, replica)
    timeout_ns = world.config.attempt_timeout_ns
    if world.fault.attempt_timeout_ns > 0 and is_active(world, now_ns):
        timeout_ns = world.fault.attempt_timeout_ns
    if timeout_ns > 0 and world.requests[request].engine_first_ns < 0:
        schedule(world, heap, now_ns + timeout_ns, TIMES_OUT, request, world.requests[request].attempt)
    gateway.spend(world, heap, request, stages.NET_DISPATCH, now_ns)


@kernel
def through_frontend(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Transit, tokeniser, hand-over, grammar; then the engine's queue. KV transfers end here too."""
    row = world.requests[request]
    if row.stage == stages.KV_BOOTSTRAP:
        delivery.start_transfer(world, heap, request, now_ns)
    elif row.stage == stages.KV_TRANSFER:
        delivery.finish_transfer(world, heap, request, now_ns)
    elif not world.replicas[row.replica].is_up:
        failures.lose(world, heap, request, now_ns)
    elif row.stage == stages.NET_DISPATCH:
        tokenise(world, heap, request, now_ns)
    elif row.stage == stages.FE_PREPROCESS:
        gateway.spend(world, heap, request, stages.FE_DISPATCH, now_ns)
    elif row.stage == stages.FE_DISPATCH and world.durations[request, stages.ENG_GRAMMAR] > 0:
        gateway.spend(world, heap, request, stages.ENG_GRAMMAR, now_ns)
    else:
        reach_engine(world, heap, request, now_ns)


@kernel
def tokenise(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Wait for the replica's one tokeniser process and use it; both count as preprocessing."""
    row = world.requests[request]
    row.frontend_ns = now_ns
    place = world.replicas[row.replica]
    enter(world, request, stages.FE_PREPROCESS, now_ns)
    start_ns = max(now_ns, place.frontend_free_ns)
    place.frontend_free_ns = start_ns + drawn_ns(world, request, stages.FE_PREPROCESS, now_ns)
    schedule(world, heap, place.frontend_free_ns, STAGE_ENDS, request, row.attempt)


@kernel
def reach_engine(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Join the engine's queue, or get 503 where it is full."""
    row = world.requests[request]
    place, limit = world.replicas[row.replica], world.config.max_queue
    if world.fault.max_queue > 0 and is_struck(world, row.replica, now_ns):
        limit = world.fault.max_queue
    if limit > 0 and place.waiting >= limit:
        place.rejected += 1
        gateway.end(world, heap, request, state.REJECTED, 503, now_ns)
        return
    row.queued_ns = now_ns
    enter(world, request, stages.ENG_QUEUE, now_ns)
    queues.push(world, row.replica, request)
    engine.wake(world, heap, row.replica, now_ns)


@kernel
def read_counters(world: World, heap: Heap, now_ns: int) -> None:
    """Copy every replica's state; again after the interval, until the last request is over."""
    position = world.counters[READINGS]
    world.counters[READINGS] += 1
    if position < world.reading_times.shape[0]:
        world.reading_times[position] = now_ns
        for replica in range(world.replicas.shape[0]):
            world.readings[position, replica] = world.replicas[replica]
    if now_ns < world.config.end_of_arrivals_ns or world.counters[LIVE] > 0:
        schedule(world, heap, now_ns + world.config.reading_interval_ns, READS_COUNTERS, 0, 0)


@kernel
def is_current(world: World, request: int, attempt: int) -> bool:
    """Whether an event of this attempt still concerns the request."""
    row = world.requests[request]
    return row.attempt == attempt and row.held != state.CLOSED


@kernel
def handle(world: World, heap: Heap, event: tuple[int, int, int, int, int]) -> None:
    """Let one event happen, unless its request or replica has moved on since it was scheduled."""
    now_ns, _, kind, subject, guard = event
    if kind in (STAGE_ENDS, TIMES_OUT, GIVES_UP, CLOSES, CANCELLED):
        handle_request(world, heap, kind, subject, guard, now_ns)
    elif kind == READS_COUNTERS:
        read_counters(world, heap, now_ns)
    elif kind == READY:
        gateway.start_all(world, heap, now_ns)
    else:
        handle_replica(world, heap, kind, subject, guard, now_ns)


@kernel
def handle_request(world: World, heap: Heap, kind: int, request: int, attempt: int, now_ns: int) -> None:
    """An event of one request."""
    if kind == STAGE_ENDS and is_current(world, request, attempt):
        stage_ended(world, heap, request, now_ns)
    elif kind == TIMES_OUT and is_current(world, request, attempt):
        failures.time_out(world, heap, request, now_ns)
    elif kind == GIVES_UP:
        failures.give_up(world, heap, request, now_ns)
    elif kind == CANCELLED:
        failures.cancel(world, heap, request, attempt, now_ns)
    elif kind == CLOSES:
        gateway.release_slot(world, heap, request, now_ns)


@kernel
def handle_replica(world: World, heap: Heap, kind: int, replica: int, epoch: int, now_ns: int) -> None:
    """An event of one replica."""
    if kind == engine.STEP_ENDS and world.replicas[replica].epoch == epoch:
        delivery.step_ended(world, heap, replica, now_ns)
    elif kind == CRASHES:
        failures.crash(world, heap, replica, now_ns)
    elif kind == RECOVERS:
        world.replicas[replica].is_up = True


@kernel
def start_events(world: World) -> Heap:
    """The heap with what is known before the first request: counter readings, crash and start of replicas."""
    fault = world.fault
    heap = [(world.config.reading_interval_ns, 0, READS_COUNTERS, 0, 0)]
    if fault.is_crash:
        replica = max(fault.replica, 0)
        schedule(world, heap, fault.start_ns, CRASHES, replica, 0)
        schedule(world, heap, fault.end_ns, RECOVERS, replica, 0)
    if fault.is_cold_start:
        schedule(world, heap, fault.end_ns, READY, 0, 0)
    return heap


@kernel
def simulate(world: World) -> int:
    """Run a world to its end; returns the number of events. Requests are in order of arrival."""
    heap = start_events(world)
    position, count = 0, world.requests.shape[0]
    while position < count or len(heap) > 0:
        world.counters[EVENTS] += 1
        if position < count and (len(heap) == 0 or world.requests[position].arrival_ns <= heap[0][0]):
            arrive(world, heap, position)
            position += 1
        else:
            handle(world, heap, heapq.heappop(heap))
    return world.counters[EVENTS]
