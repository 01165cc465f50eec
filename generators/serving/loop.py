"""The event loop of the serving simulation, compiled.

Why its own loop and not a process library: a request passes about ten events and shares hundreds of engine steps with
others, and a run has to reach millions of requests. A binary heap of integer tuples over structured arrays, compiled,
runs some hundred times as many events a second as one Python generator per process does (docs/generators.md has the
figures), and integer nanoseconds stay exact. All random numbers are drawn before, so the loop itself is deterministic.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable
from pathlib import Path

from numba import njit

from generators.serving import engine, gateway, queues, stages, state
from generators.serving.compiled import compiled
from generators.serving.gateway import CLOSES, GIVES_UP, STAGE_ENDS, TIMES_OUT
from generators.serving.journal import Heap, close, drawn_ns, enter, is_active, is_struck, record, schedule
from generators.serving.state import EVENTS, LIVE, READINGS, World

CRASHES = 5
RECOVERS = 7
READS_COUNTERS = 8


@compiled
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


@compiled
def stage_ended(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Go on after a stage of drawn duration."""
    stage = world.requests[request].stage
    if stage <= stages.GW_RATELIMIT:
        through_checks(world, heap, request, now_ns)
    elif stage <= stages.GW_ROUTE or stage == stages.RETRY:
        through_routing(world, heap, request, now_ns)
    else:
        through_frontend(world, heap, request, now_ns)


@compiled
def through_checks(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """ingress, authentication, quota: the next one, or 429."""
    stage = world.requests[request].stage
    if stage == stages.GW_RATELIMIT and not gateway.passes_quota(world, request, now_ns):
        close(world, request, state.REJECTED, 429, now_ns)
        return
    gateway.spend(world, heap, request, stage + 1, now_ns)


@compiled
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


@compiled
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


@compiled
def through_frontend(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Transit, tokeniser, hand-over, grammar; then the engine's queue. KV transfers end here too."""
    row = world.requests[request]
    if row.stage == stages.KV_BOOTSTRAP:
        start_transfer(world, heap, request, now_ns)
    elif row.stage == stages.KV_TRANSFER:
        finish_transfer(world, heap, request, now_ns)
    elif not world.replicas[row.replica].is_up:
        lose(world, heap, request, now_ns)
    elif row.stage == stages.NET_DISPATCH:
        tokenise(world, heap, request, now_ns)
    elif row.stage == stages.FE_PREPROCESS:
        gateway.spend(world, heap, request, stages.FE_DISPATCH, now_ns)
    elif row.stage == stages.FE_DISPATCH and world.durations[request, stages.ENG_GRAMMAR] > 0:
        gateway.spend(world, heap, request, stages.ENG_GRAMMAR, now_ns)
    else:
        reach_engine(world, heap, request, now_ns)


@compiled
def tokenise(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Wait for the replica's one tokeniser process and use it; both count as preprocessing."""
    row = world.requests[request]
    row.frontend_ns = now_ns
    place = world.replicas[row.replica]
    enter(world, request, stages.FE_PREPROCESS, now_ns)
    start_ns = max(now_ns, place.frontend_free_ns)
    place.frontend_free_ns = start_ns + drawn_ns(world, request, stages.FE_PREPROCESS, now_ns)
    schedule(world, heap, place.frontend_free_ns, STAGE_ENDS, request, row.attempt)


@compiled
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
    wake(world, heap, row.replica, now_ns)


@compiled
def wake(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Start a step on a replica that is idle."""
    if replica >= 0 and world.replicas[replica].is_up and not world.replicas[replica].busy:
        engine.start_step(world, heap, replica, now_ns)


@compiled
def step_ended(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Book a finished step, then start the next one."""
    place, requests, batch = world.replicas[replica], world.requests, world.batches[replica]
    place.busy = False
    place.busy_ns += now_ns - place.step_start_ns
    place.steps += 1
    drafts, accepted_share = world.config.spec_tokens, engine.acceptance(world, replica, now_ns)
    for position in range(place.running - 1, -1, -1):
        row = requests[batch[position]]
        if row.chunk > 0 and engine.advance(row, place, drafts, accepted_share):
            # Most decode steps change nothing but the count of tokens.
            if row.stage != stages.ENG_DECODE or row.generated >= row.output_tokens:
                tokens_ready(world, heap, replica, batch[position], now_ns)
    engine.start_step(world, heap, replica, now_ns)


@compiled
def tokens_ready(world: World, heap: Heap, replica: int, request: int, now_ns: int) -> None:
    """A step gave tokens: the first, the last, or the sign that a prompt can go to its decode replica."""
    row = world.requests[request]
    if engine.only_prefills(world, replica) and row.generated < row.output_tokens:
        hand_over(world, heap, request, now_ns)
        return
    if row.attempt_first_ns < 0:
        row.attempt_first_ns = now_ns
    if row.engine_first_ns < 0:
        engine.first_token(world, request, now_ns)
    elif row.stage == stages.ENG_RECOMPUTE:
        enter(world, request, stages.ENG_DECODE, now_ns)
    if row.generated >= row.output_tokens:
        finish(world, heap, replica, request, now_ns)


@compiled
def finish(world: World, heap: Heap, replica: int, request: int, now_ns: int) -> None:
    """The last token leaves the engine; the response closes when the client has read it."""
    row = world.requests[request]
    row.engine_last_ns = now_ns
    world.replicas[replica].finished += 1
    gateway.detach(world, request)
    detok_ns = drawn_ns(world, request, stages.OUT_DETOK, now_ns)
    enter(world, request, stages.OUT_DETOK, now_ns)
    enter(world, request, stages.OUT_STREAM, now_ns + detok_ns)
    record(
        world,
        request,
        stages.OUT_STREAM,
        now_ns + detok_ns + drawn_ns(world, request, stages.OUT_STREAM, now_ns),
    )
    row.last_ns = row.since_ns
    drained_ns = row.first_ns + row.output_tokens * read_ns(world, request)
    close(world, request, state.OK, 200, max(row.last_ns, drained_ns))
    if world.config.max_inflight > 0:
        schedule(world, heap, row.close_ns, CLOSES, request, 0)


@compiled
def read_ns(world: World, request: int) -> int:
    """Time that the client needs to take one token off the wire."""
    row = world.requests[request]
    if is_active(world, row.arrival_ns) and row.fault_read_ns > row.read_ns:
        without_ns = max(row.last_ns, row.first_ns + row.output_tokens * row.read_ns)
        extra_ns = row.first_ns + row.output_tokens * row.fault_read_ns - without_ns
        world.injected[request, stages.OUT_STREAM] += max(extra_ns, 0)
        return row.fault_read_ns
    return row.read_ns


@compiled
def hand_over(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Prefill is done here: leave the batch, keep the blocks, and shake hands with a decode replica."""
    row = world.requests[request]
    blocks = row.blocks
    queues.leave(world, row.replica, request)
    row.blocks = blocks
    world.replicas[row.replica].used_blocks += blocks
    row.held = state.IN_TRANSFER
    gateway.spend(world, heap, request, stages.KV_BOOTSTRAP, now_ns)


@compiled
def start_transfer(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Send the KV blocks over the replica's link, one transfer after the other."""
    row = world.requests[request]
    enter(world, request, stages.KV_TRANSFER, now_ns)
    place = world.replicas[row.replica]
    base_ns = int(row.prompt_tokens * world.config.transfer_ns_per_token)
    factor = world.fault.link_factor if is_struck(world, row.replica, now_ns) else 1.0
    world.injected[request, stages.KV_TRANSFER] += int(base_ns * factor) - base_ns
    place.link_free_ns = max(now_ns, place.link_free_ns) + int(base_ns * factor)
    place.transferred_bytes += row.prompt_tokens * world.config.kv_bytes_per_token
    schedule(world, heap, place.link_free_ns, STAGE_ENDS, request, row.attempt)


@compiled
def finish_transfer(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The blocks have arrived: wait for a place in the decode replica's batch."""
    row = world.requests[request]
    decode = gateway.least_assigned(world, world.config.first_decode_replica, world.replicas.shape[0], now_ns)
    if decode < 0:
        lose(world, heap, request, now_ns)
        return
    prefill_replica = gateway.detach(world, request)
    enter(world, request, stages.ENG_DECODE_WAIT, now_ns)
    world.replicas[decode].assigned += 1
    row.decode_replica, row.is_assigned = decode, True
    queues.push(world, decode, request)
    wake(world, heap, decode, now_ns)
    wake(world, heap, prefill_replica, now_ns)


@compiled
def lose(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The replica is dead: move the request elsewhere once that is noticed, or fail it."""
    row = world.requests[request]
    gateway.detach(world, request)
    if row.migrations >= world.config.max_migrations:
        gateway.end(world, heap, request, state.FAILED, 502, now_ns)
        return
    row.migrations += 1
    gateway.repeat(world, heap, request, world.fault.detect_ns, now_ns)


@compiled
def crash(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """The replica dies with everything that it holds."""
    place = world.replicas[replica]
    place.is_up, place.busy = False, False
    place.epoch += 1
    while place.running > 0:
        lose(world, heap, world.batches[replica, place.running - 1], now_ns)
    while place.head >= 0:
        lose(world, heap, place.head, now_ns)


@compiled
def give_up(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The client leaves: 499, and the engine stops working for it."""
    if world.requests[request].held == state.CLOSED:
        return
    replica = gateway.detach(world, request)
    gateway.end(world, heap, request, state.ABORTED, 499, now_ns)
    wake(world, heap, replica, now_ns)


@compiled
def time_out(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The attempt has no first token in time: try again, or fail with 504."""
    row = world.requests[request]
    if row.held == state.CLOSED or row.engine_first_ns >= 0:
        return
    replica = gateway.detach(world, request)
    if row.attempt + 1 < world.config.max_attempts:
        gateway.repeat(world, heap, request, world.config.backoff_ns, now_ns)
    else:
        gateway.end(world, heap, request, state.FAILED, 504, now_ns)
    wake(world, heap, replica, now_ns)


@compiled
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


@compiled
def handle(world: World, heap: Heap, event: tuple[int, int, int, int, int]) -> None:
    """Let one event happen, unless its request or replica has moved on since it was scheduled."""
    now_ns, _, kind, subject, guard = event
    if kind == engine.STEP_ENDS:
        if world.replicas[subject].epoch == guard:
            step_ended(world, heap, subject, now_ns)
    elif kind == STAGE_ENDS or kind == TIMES_OUT:
        if world.requests[subject].attempt == guard and world.requests[subject].held != state.CLOSED:
            if kind == STAGE_ENDS:
                stage_ended(world, heap, subject, now_ns)
            else:
                time_out(world, heap, subject, now_ns)
    elif kind == GIVES_UP:
        give_up(world, heap, subject, now_ns)
    elif kind == CLOSES:
        gateway.release_slot(world, heap, subject, now_ns)
    elif kind == READS_COUNTERS:
        read_counters(world, heap, now_ns)
    elif kind == CRASHES:
        crash(world, heap, subject, now_ns)
    else:
        world.replicas[subject].is_up = True


@compiled
def start_events(world: World) -> Heap:
    """The heap with what is known before the first request: counter readings and the crash of a replica."""
    fault = world.fault
    heap = [(world.config.reading_interval_ns, 0, READS_COUNTERS, 0, 0)]
    if fault.is_crash:
        replica = max(fault.replica, 0)
        schedule(world, heap, fault.start_ns, CRASHES, replica, 0)
        schedule(world, heap, fault.end_ns, RECOVERS, replica, 0)
    return heap


def _source_digest() -> int:
    """A number that changes with the source of any compiled function of this model."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7])


def _compiled_loop(digest: int) -> Callable[[World], int]:
    @njit(cache=True)
    def run(world: World) -> int:
        heap = start_events(world)
        position, count = 0, world.requests.shape[0]
        while position < count or len(heap) > 0:
            # The compiler's cache does not notice changes in other files; this constant makes it.
            world.counters[EVENTS] += digest != 0
            if position < count and (len(heap) == 0 or world.requests[position].arrival_ns <= heap[0][0]):
                arrive(world, heap, position)
                position += 1
            else:
                handle(world, heap, heapq.heappop(heap))
        return world.counters[EVENTS]

    return run


simulate = _compiled_loop(_source_digest())
"""Run a world to its end; returns the number of events. Requests are in order of arrival."""
